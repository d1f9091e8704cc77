"""Leaving a target alone that fails: closed → open, when too many of its calls failed → half open, for one probe → closed again."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.run import Outcome, OutcomeKind

_BUCKETS = 6


class CircuitState(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Opens when `failure_rate` of at least `calls_min` calls within `window_s` failed. It waits `wait_s` for a probe, and twice as long
    after each probe that failed, up to `wait_s_max`."""

    window_s: float = 60.0
    calls_min: int = 20
    failure_rate: float = 0.5
    wait_s: float = 5.0
    wait_s_max: float = 300.0


DEFAULT_POLICY = CircuitPolicy()


def is_failure(outcome: Outcome) -> bool | None:
    """Whether an outcome speaks against its target's health; None: it says nothing. A refusal is an answer: only 5xx counts."""
    match outcome.kind:
        case OutcomeKind.SUCCEEDED:
            return False
        case OutcomeKind.REFUSED:
            return (outcome.status or 0) >= 500
        case OutcomeKind.UNREACHABLE | OutcomeKind.TIMED_OUT | OutcomeKind.ERRORED:
            return True
        case _:
            return None


class Circuit:
    """What is known about one target. Times are monotonic seconds, and never go back.

    Only calls that started after the last change of state count: those that hung from before say nothing new.
    """

    __slots__ = (
        "_buckets",
        "_failed_in",
        "_opened_times",
        "_policy",
        "_probe_until_s",
        "_since_s",
        "_until_s",
        "state",
    )

    def __init__(self, policy: CircuitPolicy = DEFAULT_POLICY) -> None:
        self._policy = policy
        self.state = CircuitState.CLOSED
        self._since_s = float("-inf")
        self._until_s = 0.0
        self._probe_until_s = 0.0
        self._opened_times = 0
        self._buckets: dict[int, tuple[int, int]] = {}
        self._failed_in: int | None = None
        """The last bucket that has a failure: asked after each call."""

    def admit(self, now_s: float) -> bool:
        """Whether a call may start. In an open circuit whose wait is over, this one is the probe."""
        if self.state is CircuitState.CLOSED:
            return True
        if self.state is CircuitState.OPEN and now_s >= self._until_s:
            self._change(CircuitState.HALF_OPEN, now_s)
            self._probe_until_s = now_s
        if self.state is CircuitState.HALF_OPEN and now_s >= self._probe_until_s:
            # A probe that never reports must not keep the circuit open for ever.
            self._probe_until_s = now_s + self._policy.wait_s_max
            return True
        return False

    def wait_s(self, now_s: float) -> float:
        """How long to put off a call that was not admitted."""
        if self.state is CircuitState.OPEN:
            return max(self._until_s - now_s, self._policy.wait_s / 2)
        return self._policy.wait_s

    def record(self, failed: bool | None, *, started_s: float, now_s: float) -> None:
        """Take in how a call ended; None: it says nothing, and another probe may be made."""
        if started_s < self._since_s or self.state is CircuitState.OPEN:
            return
        if self.state is CircuitState.HALF_OPEN:
            if failed is None:
                self._probe_until_s = now_s
            elif failed:
                self._open(now_s)
            else:
                self._opened_times = 0
                self._change(CircuitState.CLOSED, now_s)
        elif failed is not None:
            self._count(failed, now_s)

    def is_idle(self, now_s: float) -> bool:
        """Whether it knows nothing any more that a new circuit would not."""
        if self.state is not CircuitState.CLOSED:
            return False
        return self._failed_in is None or self._failed_in <= self._bucket(now_s) - _BUCKETS

    def _count(self, failed: bool, now_s: float) -> None:
        bucket = self._bucket(now_s)
        if bucket not in self._buckets:
            self._buckets = {each: counts for each, counts in self._buckets.items() if each > bucket - _BUCKETS}
        succeeded_count, failed_count = self._buckets.get(bucket, (0, 0))
        self._buckets[bucket] = (succeeded_count + (not failed), failed_count + failed)
        if failed:
            self._failed_in = bucket
            succeeded_count, failed_count = self._recent(now_s)
            total = succeeded_count + failed_count
            if total >= self._policy.calls_min and failed_count >= total * self._policy.failure_rate:
                self._open(now_s)

    def _recent(self, now_s: float) -> tuple[int, int]:
        oldest = self._bucket(now_s) - _BUCKETS
        counts = [counted for bucket, counted in self._buckets.items() if bucket > oldest]
        return sum(one[0] for one in counts), sum(one[1] for one in counts)

    def _bucket(self, now_s: float) -> int:
        return int(now_s * _BUCKETS / self._policy.window_s)

    def _open(self, now_s: float) -> None:
        wait_s = min(self._policy.wait_s * 2.0 ** min(self._opened_times, 40), self._policy.wait_s_max)
        self._opened_times += 1
        self._change(CircuitState.OPEN, now_s)
        self._until_s = now_s + wait_s

    def _change(self, state: CircuitState, now_s: float) -> None:
        self.state = state
        self._since_s = now_s
        self._buckets.clear()
        self._failed_in = None
