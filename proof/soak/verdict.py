"""The judgement of a soak: what was lost, called twice, early or late by the millions, and what grew.

What is checked of every occurrence and every call: that each occurrence was called (I1), that each call is of something that was asked
for (I2) and not early (I5); and by the sums of the tables, that they hold as many ended runs of each kind as were asked for, all of them
successes, none twice, and none that lives (I10, I14). What is told of a run, its attempts, tokens and times (I3, I4, I6 to I8), is checked
of every run that was called again, and of one in a thousand others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from proof.checker import accounts, arrivals, histories
from proof.checker.evidence import Evidence
from proof.checker.findings import SHOWN, Finding
from proof.records import Answered, Call, Fault, Hit, Run, Scenario
from proof.soak.records import Sample, Soak
from proof.soak.tally import Tally, percentiles_ms
from proof.soak.trends import MB, Series, Trend, series_of, trends, with_rows

SAMPLED_RULES = (
    arrivals.unique,
    arrivals.explained,
    histories.ends_once,
    histories.current_owner,
    histories.legal,
    accounts.not_vacuous,
)
LAG_P95_MS = 250.0
"""Where no accident is near."""


class SoakEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """`hits` and `runs` are those that are looked at in full."""

    soak: Soak
    tally: Tally
    calls: list[Call]
    faults: list[Fault]
    samples: list[Sample]
    hits: list[Hit]
    runs: list[Run]


class SoakVerdict(msgspec.Struct, frozen=True, kw_only=True):
    soak: Soak
    findings: list[Finding]
    figures: dict[str, float]
    trends: list[Trend]
    broken: list[str]
    missed: list[str]
    growing: list[str]

    @property
    def is_green(self) -> bool:
        return not (self.broken or self.missed or self.growing)


def judge(evidence: SoakEvidence) -> SoakVerdict:
    findings = [*_of_all(evidence), _sums(evidence), *_of_sample(evidence)]
    soak = evidence.soak
    found = trends(series_of_soak(evidence), lasted_s=soak.lasted_s)
    told = _figures(evidence)
    lag_ms = told.get("lag_p95_outside_ms")
    return SoakVerdict(
        soak=soak,
        findings=findings,
        figures=told,
        trends=found,
        broken=[finding.invariant for finding in findings if finding.violations],
        missed=[]
        if lag_ms is not None and lag_ms <= LAG_P95_MS
        else [f"lag_p95_outside_ms is {lag_ms}, and at most {LAG_P95_MS:g} was wanted"],
        growing=[trend.name for trend in found if trend.grows],
    )


def series_of_soak(evidence: SoakEvidence) -> dict[str, Series]:
    """While the load was there: before and after it, other things are flat."""
    soak = evidence.soak
    within = [sample for sample in evidence.samples if soak.began_s <= sample.at_s <= soak.ended_s]
    return series_of(with_rows(within, rate=soak.rate, began_s=soak.began_s))


def _of_all(evidence: SoakEvidence) -> list[Finding]:
    tally = evidence.tally
    asked = [call for call in evidence.calls if call.operation in ("adhoc", "run_now")]
    wanted = Counter(call.marker for call in asked if call.answered is Answered.ACKNOWLEDGED)
    never = [f"{marker} was asked for, and never called" for marker in wanted if tally.by_hand[marker] < wanted[marker]]
    return [
        Finding(
            invariant="I1",
            promise="every occurrence and every run that was asked for was called",
            looked_at=tally.demanded + wanted.total(),
            violations=[*_all_of(tally, "missing", tally.missing), *never],
        ),
        Finding(
            invariant="I2",
            promise="every call is of something that was asked for",
            looked_at=tally.hits,
            violations=_all_of(tally, "strange", tally.strange),
        ),
        Finding(
            invariant="I5",
            promise="nothing starts before its time",
            looked_at=tally.hits,
            violations=_all_of(tally, "early", tally.early),
        ),
    ]


def _all_of(tally: Tally, what: str, count: int) -> list[str]:
    """The problems that were kept, and how many were not."""
    kept = tally.problems.get(what, [])
    return [*kept, f"and {count - len(kept):,} more"] if count > len(kept) else kept


def _sums(evidence: SoakEvidence) -> Finding:
    """I10 and I14, by what the tables count."""
    soak = evidence.soak
    kinds: Counter[str] = Counter()
    for name, count in soak.ended.items():
        kinds[name.split(" ")[0]] += count
    certain, perhaps = _asked(evidence)
    wrong = [
        f"{kinds[kind]:,} ended runs are {kind}, and {certain[kind]:,} to {certain[kind] + perhaps[kind]:,} were asked for"
        for kind in sorted({*kinds, *certain, *perhaps})
        if not certain[kind] <= kinds[kind] <= certain[kind] + perhaps[kind]
    ]
    wrong += [
        f"{count:,} runs are {name}, and all calls were answered well"
        for name, count in soak.ended.items()
        if count and not name.endswith(" succeeded")
    ]
    for count, what in ((soak.live, "live at rest"), (soak.both, "ended and live on"), (soak.dead_letters, "dead")):
        wrong += [f"{count:,} runs are {what}"] if count else []
    return Finding(
        invariant="I14",
        promise="as many runs are kept as were asked for, each once, and none lives",
        looked_at=kinds.total(),
        violations=wrong,
    )


def _asked(evidence: SoakEvidence) -> tuple[Counter[str], Counter[str]]:
    """How many runs of each kind there have to be, and how many more there may be: of calls that were not answered."""
    certain = Counter({"scheduled": evidence.tally.demanded})
    perhaps: Counter[str] = Counter()
    kinds = {"adhoc": "adhoc", "run_now": "manual", "create": "scheduled"}
    for call in evidence.calls:
        if call.operation in kinds and call.answered is Answered.UNKNOWN:
            perhaps[kinds[call.operation]] += 1
        elif call.operation in ("adhoc", "run_now") and call.answered is Answered.ACKNOWLEDGED:
            certain[kinds[call.operation]] += 1
    return certain, perhaps


def _of_sample(evidence: SoakEvidence) -> list[Finding]:
    """The rules of every scenario that need nothing but what is told of a run."""
    soak = evidence.soak
    sampled = Evidence(
        scenario=Scenario(
            name="soak",
            seed=soak.seed,
            store="PostgreSQL",
            began_s=soak.began_s,
            ended_s=soak.ended_s,
            dumped_s=soak.rested_s,
            faults_min=soak.faults_min,
        ),
        hits=evidence.hits,
        faults=evidence.faults,
        runs=evidence.runs,
    )
    return [rule(sampled) for rule in SAMPLED_RULES]


def _figures(evidence: SoakEvidence) -> dict[str, float]:
    tally, soak = evidence.tally, evidence.soak
    told = {
        "demanded": float(tally.demanded),
        "calls": float(tally.hits),
        "calls_per_s": tally.hits / max(1.0, soak.lasted_s),
        "called_again": float(len(tally.again)),
        "looked_at_in_full": float(len(evidence.runs)),
        "faults": float(len(evidence.faults)),
        "rest_s": soak.rested_s - soak.ended_s,
    }
    for what in ("idle", "stolen"):
        shares = [sample.values[f"{what} machine"] for sample in evidence.samples if f"{what} machine" in sample.values]
        told |= {f"machine_{what}_share": sum(shares) / len(shares)} if shares else {}
    for share, lag_ms in percentiles_ms(tally.outside_ms, (50, 95, 99)).items():
        told[f"lag_p{share}_outside_ms"] = lag_ms
    told |= {"lag_max_ms": max(window.lag_max_ms for window in tally.windows)} if tally.windows else {}
    return {name: round(value, 3) for name, value in told.items()}


def page(verdict: SoakVerdict) -> str:
    """For people."""
    soak = verdict.soak
    lines = [
        f"soak of {soak.lasted_s / 60:.0f} minutes, {soak.rate:,} runs a second, seed {soak.seed}: "
        f"{'GREEN' if verdict.is_green else 'RED'}",
        "",
    ]
    for finding in verdict.findings:
        lines.append(f"{finding.invariant:4} {finding.verdict:8} {finding.looked_at:>12,}  {finding.promise}")
        lines += [f"{'':28}{what}: {count:,}" for what, count in finding.notes.items()]
        lines += [f"{'':28}✗ {problem}" for problem in finding.violations[:SHOWN]]
    lines += ["", *(f"{name:24} {value:>16,.3f}".rstrip("0").rstrip(".") for name, value in verdict.figures.items())]
    lines += [f"✗ {problem}" for problem in verdict.missed]
    lines += ["", f"{'':40} {'level':>16} {'an hour':>14} {'allowed':>14}"]
    lines += _told([trend for trend in verdict.trends if trend.allowed is not None])
    return "\n".join(lines) + "\n"


def _told(judged: Sequence[Trend]) -> list[str]:
    """Relations that are next to nothing are left out, as long as they stay so."""
    if not judged:
        return ["no series is long enough to tell what grows"]
    return [
        f"{'✗' if trend.grows else ' '} {trend.name:38} {trend.level:>16,.0f} {trend.per_hour:>+14,.0f} {trend.allowed or 0:>14,.0f}"
        for trend in judged
        if trend.grows or trend.most >= MB or not trend.name.startswith(("table ", "index "))
    ]
