"""Figures of a scenario: how late things started beside faults and without them, and how long it took until all was as before."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import mean, stdev

import msgspec

from proof.checker.demand import demands
from proof.checker.evidence import Evidence
from proof.records import Attempt, Fault, Hit, instant_s

NOISE = "noise"
"""The kind of fault that is a tenant with very much to do."""
QUIET = "quiet-"
"""What the markers begin with of a tenant that has little to do."""
STEP_S = 0.25
"""Recovery is told by so much: fewer starts in a step would make one that is late by chance a step that is."""
STAYS_S = 2.0
"""What is on time for so long is so again. A hiccup later has another cause."""
BITES_S = 0.01
"""A fault is noted before it bites, for as long as that: what starts meanwhile is under way when it does."""
ON_TIME_S = 0.25
"""How late a start may be that shows that all is as before: what the product promises of 95 in 100."""


class Start(msgspec.Struct, frozen=True):
    """A first hit of an occurrence that nothing but the product could delay."""

    due_s: float
    hit_s: float

    @property
    def lag_s(self) -> float:
        return self.hit_s - self.due_s


class FaultFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one fault. `failover_s`: until everything that was due or in lost hands had been started; `recovery_s`: until all was on time."""

    kind: str
    victim: str
    begin_s: float
    lasted_s: float
    in_flight: int
    lost: int
    second_hits: int
    failover_s: float | None
    recovery_s: float | None


def starts(evidence: Evidence) -> list[Start]:
    """Of jobs without limits that nobody paused, at targets that answer: their lag is the product's own."""
    touched = {call.marker for call in evidence.calls if call.operation in ("pause", "resume", "delete")}
    free = {
        demand.marker
        for demand in demands(evidence).values()
        if demand.marker not in touched
        and demand.concurrency is None
        and not demand.is_hostile
        and (demand.overlap == "allow" or len(demand.instants_ms) == 1)
    }
    found = []
    for run_id, hits in evidence.hits_of.items():
        run = evidence.run_by_id.get(run_id)
        if run is not None and run.kind == "scheduled" and hits[0].path == "/ok" and hits[0].marker in free:
            found.append(Start(instant_s(run.scheduled_at), hits[0].at_s))
    return sorted(found, key=lambda start: start.due_s)


def undisturbed(evidence: Evidence, all_starts: Sequence[Start]) -> list[Start]:
    """Those that did not wait for the machine, nor behind what did."""
    return [
        start
        for start in all_starts
        if not any(stall.begin_s <= start.hit_s and start.due_s <= stall.end_s + ON_TIME_S for stall in evidence.stalls)
    ]


def fault_figures(evidence: Evidence, all_starts: Sequence[Start]) -> list[FaultFigures]:
    return [_fault(fault, evidence, all_starts) for fault in sorted(evidence.faults, key=lambda fault: fault.begin_s)]


def _fault(fault: Fault, evidence: Evidence, all_starts: Sequence[Start]) -> FaultFigures:
    in_flight = lost = 0
    again: list[Hit] = []
    for run in evidence.runs:
        hits = {hit.token: hit for hit in evidence.hits_of.get(run.id, [])}
        for attempt in run.attempts:
            hit = hits.get(attempt.token)
            if (
                hit is not None
                and hit.at_s <= fault.begin_s + BITES_S
                and fault.begin_s < instant_s(attempt.finished_at)
            ):
                in_flight += 1
            if attempt.outcome == "lost" and _took(fault, attempt):
                lost += 1
                later = [other for token, other in sorted(hits.items()) if token > attempt.token]
                again += later[:1] if hit is not None else []
    late = [start.hit_s - max(start.due_s, fault.begin_s) for start in all_starts if _met(start, fault)]
    return FaultFigures(
        kind=fault.kind,
        victim=fault.victim,
        begin_s=fault.begin_s,
        lasted_s=fault.end_s - fault.begin_s,
        in_flight=in_flight,
        lost=lost,
        second_hits=len(again),
        failover_s=max((*late, *(hit.at_s - fault.begin_s for hit in again)), default=None),
        recovery_s=_recovery_s(fault, evidence, undisturbed(evidence, all_starts)),
    )


def _recovery_s(fault: Fault, evidence: Evidence, all_starts: Sequence[Start]) -> float | None:
    """From the end of a fault until 95 of 100 starts are on time, and stay so for a while. None where nothing was due after it."""
    next_s = min((other.begin_s for other in evidence.faults if other.begin_s > fault.end_s), default=math.inf)
    late: dict[int, list[bool]] = defaultdict(list)
    for start in all_starts:
        # What is due right before the next fault may have been met by it.
        if fault.end_s <= start.due_s < next_s - ON_TIME_S:
            late[int((start.due_s - fault.end_s) / STEP_S)].append(start.lag_s > ON_TIME_S)
    if not late:
        return None
    recovered = 0
    for step in sorted(step for step, ones in late.items() if sum(ones) > len(ones) / 20):
        if (step - recovered) * STEP_S >= STAYS_S:
            break
        recovered = step + 1
    return recovered * STEP_S


def _took(fault: Fault, attempt: Attempt) -> bool:
    """Whether an attempt was in somebody's hands when a fault began."""
    return instant_s(attempt.claimed_at) <= fault.begin_s <= instant_s(attempt.finished_at)


def _met(start: Start, fault: Fault) -> bool:
    """Whether a fault lay between the time of an occurrence, or its claim a second before, and its start."""
    return fault.begin_s - 1 <= start.due_s <= fault.settled_s and start.hit_s >= fault.begin_s


def figures(evidence: Evidence) -> dict[str, float]:
    """By name. What cannot be told, because there was nothing of it, is left out."""
    quiet_alone, quiet_beside = quiet_lags_ms(evidence)
    all_starts = starts(evidence)
    inside: list[float] = []
    outside: list[float] = []
    planned: list[float] = []
    for start in undisturbed(evidence, all_starts):
        met = [fault for fault in evidence.faults if fault.begin_s <= start.hit_s and start.due_s <= fault.settled_s]
        (inside if met else outside).append(start.lag_s * 1000)
        if any(fault.planned and start.due_s <= fault.end_s for fault in met):
            planned.append(start.lag_s * 1000)
    told: dict[str, float] = {
        "occurrences": sum(len(demand.required_ms) for demand in demands(evidence).values()),
        "runs": len(evidence.runs),
        "hits": len(evidence.hits),
        "second_hits": sum(len(hits) - 1 for hits in evidence.hits_of.values()),
        "lost_attempts": sum(attempt.outcome == "lost" for run in evidence.runs for attempt in run.attempts),
        "machine_stalled_s": sum(stall.end_s - stall.begin_s for stall in evidence.stalls),
    }
    for name, lags in (("outside", outside), ("inside", inside)):
        for share in (50, 95, 99):
            told |= {f"lag_p{share}_{name}_ms": percentile(lags, share)} if lags else {}
        told |= {f"lag_max_{name}_ms": max(lags)} if lags else {}
    told |= {"handover_ms": max(planned)} if planned else {}
    told |= _drains(evidence)
    for name, lags in (("alone", quiet_alone), ("beside", quiet_beside)):
        told |= {f"quiet_lag_p95_{name}_ms": percentile(lags, 95)} if lags else {}
    each = fault_figures(evidence, all_starts)
    told["second_hits_beyond_in_flight"] = sum(max(0, one.second_hits - one.in_flight) for one in each)
    for name in ("failover_s", "recovery_s"):
        values = [getattr(one, name) for one in each]
        if values and None not in values:
            told[name] = max(values)
    return {name: round(value, 3) for name, value in told.items()}


def _drains(evidence: Evidence) -> dict[str, float]:
    """How fast backlogs were worked off, and by how much slower those were that met a fault: on the whole, and surely.

    One takes up to a fifth more or less than another whatever happens, as vacuums and checkpoints come and go. So there is a doubt of two
    standard errors about the difference, and what is left of it without that is sure.
    """
    inside: list[float] = []
    outside: list[float] = []
    for hits in _backlogs(evidence):
        rate = (len(hits) - 1) / (hits[-1] - hits[0])
        (inside if evidence.faults_during(hits[0], hits[-1]) else outside).append(rate)
    if len(inside) < 2 or len(outside) < 2:
        return {}
    during, without = mean(inside), mean(outside)
    share = during / without
    doubt = 2 * share * math.hypot(*(stdev(rates) / mean(rates) / math.sqrt(len(rates)) for rates in (inside, outside)))
    return {
        "drain_inside_per_s": during,
        "drain_outside_per_s": without,
        "drain_slower_percent": 100 * (1 - share),
        "drain_surely_slower_percent": 100 * (1 - share - doubt),
    }


def _backlogs(evidence: Evidence) -> list[list[float]]:
    """When the runs of each backlog were called, in order. One is written by one call or by several: what comes before the first of
    another is over belongs to it."""
    by_call: dict[float, list[float]] = defaultdict(list)
    for call in evidence.done("adhoc"):
        if call.marker.startswith("backlog-"):
            by_call[call.sent_s] += [hit.at_s for hit in evidence.hits_of.get(call.id or "", [])[:1]]
    backlogs: list[list[float]] = []
    for sent_s, hits in sorted(by_call.items()):
        if backlogs and sent_s < backlogs[-1][-1]:
            backlogs[-1] = sorted(backlogs[-1] + hits)
        else:
            backlogs.append(sorted(hits))
    return [hits for hits in backlogs if len(hits) > 1]


def quiet_lags_ms(evidence: Evidence) -> tuple[list[float], list[float]]:
    """How late the quiet tenant's runs were before a noisy one came, and while it was there: by the markers that the target was shown."""
    noises = [fault for fault in evidence.faults if fault.kind == NOISE]
    alone: list[float] = []
    beside: list[float] = []
    for hit in evidence.hits:
        if not noises or hit.attempt != 1 or not hit.marker.startswith(QUIET):
            continue
        due_s = instant_s(hit.scheduled_at)
        if due_s < min(noise.begin_s for noise in noises):
            alone.append((hit.at_s - due_s) * 1000)
        elif any(noise.begin_s <= due_s <= noise.end_s for noise in noises):
            beside.append((hit.at_s - due_s) * 1000)
    return alone, beside


def percentile(values: Sequence[float], share: int) -> float:
    """The least value that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * share // 100) - 1)]
