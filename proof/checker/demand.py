"""What the client's acknowledged calls demand of each job, and what they forbid."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import msgspec

from proof.checker.cron import fires_ms
from proof.checker.evidence import Evidence
from proof.records import Answered, Call

Span = tuple[float, float]
"""Seconds, from and to."""
FOREVER = math.inf
UNANSWERED_S = 30.0
"""A call that was not answered may take effect so much later: the longest that a statement takes, by the product's own word."""
ATTEMPTS = 5
"""How often a run is tried that says nothing of it, by the product's own word."""


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Of one job: all its instants, those at which it was certainly to run, and the spans in which nothing of its schedule may start."""

    marker: str
    job_id: str | None
    asked: dict[str, Any]
    certain: bool
    """Whether its creation was acknowledged."""
    instants_ms: frozenset[int]
    required_ms: frozenset[int]
    forbidden: list[Span]
    active: list[Span]
    """When it certainly was to run."""
    paused_s: float | None
    """When a pause was sent, if none was refused and nothing certainly let it go on afterwards."""
    deleted: Span | None
    """Within which a deletion took effect, from its sending on, if one was not refused: what waits then is cancelled."""

    @property
    def misfire(self) -> str:
        return str(self.asked.get("misfire", {}).get("policy", "fire_once"))

    @property
    def concurrency(self) -> int | None:
        limit = self.asked.get("concurrency")
        return limit if isinstance(limit, int) else None

    @property
    def attempts_max(self) -> int:
        return attempts_max(self.asked)

    def longest_active_s(self, due_s: float, until_s: float) -> float:
        """The longest of the times between two instants in which nothing of the client's kept it from running."""
        return max((min(until, until_s) - max(since, due_s) for since, until in self.active), default=0.0)

    @property
    def is_hostile(self) -> bool:
        """Whether it calls a host that was told to behave badly: how late it is, is the host's doing."""
        return self.marker.startswith("hostile-")

    @property
    def overlap(self) -> str:
        return str(self.asked.get("overlap", "skip" if self.concurrency is None else "allow"))


def demands(evidence: Evidence) -> dict[str, Demand]:
    """By marker."""
    later: dict[str, list[Call]] = defaultdict(list)
    for call in evidence.calls:
        if call.operation in ("pause", "resume", "delete") and call.answered is not Answered.REFUSED:
            later[call.marker].append(call)
    return {
        call.marker: _demand(call, sorted(later[call.marker], key=lambda one: one.sent_s), evidence)
        for call in evidence.calls
        if call.operation == "create" and call.answered is not Answered.REFUSED
    }


def _demand(created: Call, later: list[Call], evidence: Evidence) -> Demand:
    certain = created.answered is Answered.ACKNOWLEDGED
    schedule = created.asked.get("schedule")
    instants = frozenset(fires_ms(schedule)) if schedule else frozenset()
    active = _active(created, later) if certain else []
    deletions = [call for call in later if call.operation == "delete"]
    return Demand(
        marker=created.marker,
        job_id=evidence.job_of_marker.get(created.marker),
        asked=created.asked,
        certain=certain,
        instants_ms=instants,
        required_ms=frozenset(
            at_ms for at_ms in instants if any(since <= at_ms / 1000 < until for since, until in active)
        ),
        forbidden=_forbidden(later),
        active=active,
        paused_s=_paused_s(later),
        deleted=(deletions[0].sent_s, max(map(_latest_s, deletions))) if deletions else None,
    )


def attempts_max(asked: dict[str, Any]) -> int:
    """How often what was asked for may be tried, attempts that were lost aside."""
    return int(asked.get("retry", {}).get("max_attempts", ATTEMPTS))


def _latest_s(call: Call) -> float:
    """Until when it has taken effect, if it ever does."""
    return call.answered_s if call.answered is Answered.ACKNOWLEDGED else call.answered_s + UNANSWERED_S


def _active(created: Call, later: list[Call]) -> list[Span]:
    """When it certainly was to run: after the answers to what sets it going, until the sending of what may stop it."""
    spans: list[Span] = []
    # One instant that had come before the answer did is due at once, and never lost.
    since: float | None = created.answered_s if "at" not in created.asked.get("schedule", {}) else 0.0
    for call in later:
        if call.operation != "resume" and since is not None:
            spans.append((since, call.sent_s))
            since = None
        elif call.operation == "resume" and call.answered is Answered.ACKNOWLEDGED and since is None:
            since = call.answered_s
        if call.operation == "delete" or call.answered is Answered.UNKNOWN:
            # What was not answered may take effect at any time later.
            return spans if since is None else [*spans, (since, call.sent_s)]
    return spans if since is None else [*spans, (since, FOREVER)]


def _paused_s(later: list[Call]) -> float | None:
    paused_s: float | None = None
    for call in later:
        if call.operation == "pause" and paused_s is None:
            paused_s = call.sent_s
        elif call.operation == "resume" and call.answered is Answered.ACKNOWLEDGED:
            paused_s = None
    return paused_s


def _forbidden(later: list[Call]) -> list[Span]:
    """From the answer to a pause until a resume is sent; from the answer to a deletion for ever."""
    spans: list[Span] = []
    for number, call in enumerate(later):
        if call.operation == "resume" or call.answered is not Answered.ACKNOWLEDGED:
            continue
        if call.operation == "delete":
            spans.append((call.answered_s, FOREVER))
        else:
            ends = [after.sent_s for after in later[number + 1 :] if after.operation == "resume"]
            spans.append((call.answered_s, min(ends, default=FOREVER)))
    return spans
