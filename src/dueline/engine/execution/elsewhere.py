"""Tasks that other workers have: a run of one of them is not for this worker, and not lost on it either."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.states import HeldReason
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.store.protocol import MemberStore
from dueline.store.shapes import Claim, Postponed

_FRESH_S = 2.0
_WAIT_S = limits.AHEAD_MS / 1000 + 0.1
"""What is put off for less would be claimed at once and held."""


class Elsewhere:
    """Looks at the living every few seconds, and only while somebody asks."""

    def __init__(self, store: MemberStore, clock: Clock, chance: Chance) -> None:
        self._store = store
        self._clock = clock
        self._chance = chance
        self._tasks: frozenset[str] = frozenset()
        self._looked_s = float("-inf")

    async def tasks(self) -> frozenset[str]:
        """The names of all tasks that some worker has."""
        now_s = self._clock.monotonic_s()
        if now_s - self._looked_s > _FRESH_S:
            living = [node for node in await self._store.nodes() if not node.expired and not node.draining]
            self._tasks = frozenset(task for node in living for task in node.tasks)
            self._looked_s = now_s
        return self._tasks

    def put_off(self, claim: Claim, *, now_ms: int) -> Postponed:
        """Leave a run to a worker that has its task."""
        wait_ms = int(_WAIT_S * (1 + self._chance.fraction()) * 1000)
        return Postponed(claim.run_id, claim.token, now_ms + wait_ms, HeldReason.ELSEWHERE)
