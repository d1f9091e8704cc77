"""Which claims a worker starts, and which it puts off for the sake of their target or of others. Putting off costs no attempt."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.circuits import DEFAULT_POLICY, CircuitPolicy, is_failure
from dueline.domain.run import Outcome
from dueline.domain.states import HeldReason
from dueline.runtime.chance import Chance
from dueline.store.shapes import Claim, Postponed
from dueline.worker.circuits import Circuits
from dueline.worker.shares import Shares

_MOMENT_S = 0.5


class Admission:
    """Every claim that is admitted must be told to have ended, once."""

    def __init__(
        self,
        chance: Chance,
        *,
        slots: int,
        host_share: float = limits.HOST_SHARE,
        policy: CircuitPolicy = DEFAULT_POLICY,
    ) -> None:
        self._chance = chance
        self._circuits = Circuits(policy)
        self._shares = Shares(slots, share=host_share)
        self._tasks = Shares(slots)

    def ask_task(self, claim: Claim, task: str, limit: int, *, now_s: float, now_ms: int) -> Postponed | None:
        """The same for a task of which there may be so many at a time."""
        busy_s = self._tasks.enter(task, now_s, most=limit)
        return None if busy_s is None else _in_turn(claim, now_ms, busy_s, HeldReason.CONCURRENCY)

    def task_ended(self, task: str, *, now_s: float) -> None:
        self._tasks.leave(task, now_s, answered=True)

    def ask(self, claim: Claim, host: str, *, now_s: float, now_ms: int) -> Postponed | None:
        """None: it may start. Runs that are put off for one target come back spread over time."""
        busy_s = self._shares.enter(host, now_s)
        if busy_s is not None:
            return _in_turn(claim, now_ms, busy_s, HeldReason.HOST_BUSY)
        open_s = self._circuits.wait_s((claim.tenant, host), now_s)
        if open_s is not None:
            self._shares.leave(host, now_s, answered=False)
            return _postponed(claim, now_ms, open_s * (1 + self._chance.fraction()), HeldReason.CIRCUIT)
        return None

    def ended(self, claim: Claim, host: str, outcome: Outcome | None, *, started_s: float, now_s: float) -> None:
        """Take in how an admitted call ended; None: it was broken off, and nothing is known."""
        self._shares.leave(host, now_s, answered=outcome is not None and outcome.status is not None)
        failed = None if outcome is None else is_failure(outcome)
        self._circuits.record((claim.tenant, host), failed, started_s=started_s, now_s=now_s)


def _in_turn(claim: Claim, now_ms: int, busy_s: float, reason: HeldReason) -> Postponed:
    """A run whose turn comes in a moment can wait for it where it is; any other lets others have its slot."""
    wait_s = busy_s if busy_s <= _MOMENT_S else busy_s + limits.PUT_OFF_MS_MIN / 1000
    return _postponed(claim, now_ms, wait_s, reason)


def _postponed(claim: Claim, now_ms: int, wait_s: float, reason: HeldReason) -> Postponed:
    return Postponed(claim.run_id, claim.token, now_ms + int(wait_s * 1000), reason)
