"""The processes of this Dueline, and the queues that they serve: seen, paused, drained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from dueline.domain.errors import NotFound
from dueline.domain.ids import BootId
from dueline.runtime.clock import StoreTime
from dueline.store.fleet import MemberStore, Node
from dueline.store.protocol import RunStore
from dueline.store.shapes import QueueState


class FleetStore(MemberStore, RunStore, Protocol):
    """What the fleet needs of the store."""


class QueueLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, and what there is to serve it: the signals to scale workers by."""

    state: QueueState
    oldest_age_ms: int | None
    """How long its oldest ready run has been due."""
    rate: float
    """Runs a second that workers took from it lately."""
    workers: int
    """Workers that serve it and stay, with all their slots: those that serve other queues too share them."""
    slots: int
    busy: int

    @property
    def busy_share(self) -> float | None:
        return self.busy / self.slots if self.slots else None


class Fleet:
    def __init__(self, store: FleetStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    def now_ms(self) -> int:
        """The store's time, by which beats are late."""
        return self._time().now_ms()

    async def nodes(self) -> list[Node]:
        """All processes, those that started first first."""
        return sorted(await self._store.nodes(), key=lambda node: (node.started_ms, node.boot_id))

    async def node(self, boot_id: BootId) -> Node:
        for node in await self._store.nodes():
            if node.boot_id == boot_id:
                return node
        raise NotFound("process", boot_id)

    async def drain(self, boot_id: BootId) -> Node:
        """Ask a process to end in order: it gives back what it has not started and ends what it has."""
        if not await self._store.ask_drain(boot_id):
            raise NotFound("process", boot_id)
        return await self.node(boot_id)

    async def queues(self) -> list[QueueLoad]:
        """Every queue that has live runs, is paused, or is named by a worker that stays, by name."""
        loads, _ = await self.overview()
        return loads

    async def overview(self) -> tuple[list[QueueLoad], list[Node]]:
        """These queues, and all processes."""
        states, nodes = await self._store.queue_states(), await self._store.nodes()
        served = {queue for node in nodes if node.takes_runs for queue in node.queues}
        known = {queue: _empty(queue) for queue in served} | {state.queue: state for state in states}
        return [self._load(known[queue], nodes) for queue in sorted(known)], nodes

    async def queue(self, queue: str) -> QueueLoad:
        """One queue. It is there as soon as somebody names it."""
        states = {state.queue: state for state in await self._store.queue_states()}
        return self._load(states.get(queue, _empty(queue)), await self._store.nodes())

    async def pause_queue(self, queue: str, *, note: str | None) -> QueueLoad:
        """Pause a queue, which may have no runs yet. One that is paused gets the new note, or without one keeps what it has."""
        await self._store.pause_queue(queue, note=note)
        return await self.queue(queue)

    async def resume_queue(self, queue: str) -> QueueLoad:
        """Start its runs again. One that is not paused stays as it is."""
        await self._store.resume_queue(queue)
        return await self.queue(queue)

    def _load(self, state: QueueState, nodes: Sequence[Node]) -> QueueLoad:
        serving = [node for node in nodes if node.takes_runs and state.queue in (node.queues or (state.queue,))]
        return QueueLoad(
            state=state,
            oldest_age_ms=None if state.oldest_ms is None else max(self.now_ms() - state.oldest_ms, 0),
            rate=sum(node.rates.get(state.queue, 0.0) for node in nodes if not node.expired),
            workers=len(serving),
            slots=sum(node.slots for node in serving),
            busy=sum(node.busy for node in serving),
        )


def _empty(queue: str) -> QueueState:
    return QueueState(queue=queue, ready=0, running=0, held=0, waiting=0, oldest_ms=None, paused=False, note=None)
