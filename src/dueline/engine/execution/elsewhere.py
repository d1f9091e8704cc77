"""Tasks that other workers have: a run of one of them is not for this worker, and not lost on it either."""

from __future__ import annotations

from collections.abc import Collection

from dueline.domain import limits
from dueline.domain.lanes import TASK
from dueline.domain.states import HeldReason
from dueline.engine.looks import Look
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.store.fleet import MemberStore, Node
from dueline.store.shapes import Claim, Postponed

_FRESH_S = 2.0


class Elsewhere:
    """Looks at the living every few seconds, and only while somebody asks."""

    def __init__(self, store: MemberStore, clock: Clock, chance: Chance) -> None:
        self._chance = chance
        self._nodes = Look(store.nodes, clock, fresh_s=_FRESH_S)

    async def tasks(self) -> frozenset[str]:
        """The names of all tasks that some worker has."""
        return frozenset(task for node in await self._living() for task in node.tasks)

    async def having(self, tasks: Collection[str]) -> frozenset[str]:
        """Those of some tasks that some worker has. One that executes tasks and names none is taken at its word, and has all."""
        if any(TASK in node.labels and not node.tasks for node in await self._living()):
            return frozenset(tasks)
        return (await self.tasks()).intersection(tasks)

    def put_off(self, claim: Claim, *, now_ms: int) -> Postponed:
        """Leave a run to a worker that has its task."""
        wait_ms = int(limits.PUT_OFF_MS_MIN * (1 + self._chance.fraction()))
        return Postponed(claim.run_id, claim.token, now_ms + wait_ms, HeldReason.ELSEWHERE)

    async def _living(self) -> list[Node]:
        return [node for node in await self._nodes.take() if not node.expired and not node.draining]
