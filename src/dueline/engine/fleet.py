"""The processes of this Dueline, and the queues that they serve: seen, paused, drained."""

from __future__ import annotations

from typing import Protocol

from dueline.domain.errors import NotFound
from dueline.domain.ids import BootId
from dueline.store.fleet import Node
from dueline.store.protocol import MemberStore, RunStore
from dueline.store.shapes import QueueState


class FleetStore(MemberStore, RunStore, Protocol):
    """What the fleet needs of the store."""


class Fleet:
    def __init__(self, store: FleetStore) -> None:
        self._store = store

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

    async def queues(self) -> list[QueueState]:
        """Every queue that has live runs or is paused, by name."""
        return sorted(await self._store.queue_states(), key=lambda state: state.queue)

    async def pause_queue(self, queue: str, *, note: str | None) -> QueueState:
        """Pause a queue, which may have no runs yet. One that is paused gets the new note."""
        await self._store.pause_queue(queue, note=note)
        return await self._queue(queue)

    async def resume_queue(self, queue: str) -> QueueState:
        if not await self._store.resume_queue(queue):
            raise NotFound("paused queue", queue)
        return await self._queue(queue)

    async def _queue(self, queue: str) -> QueueState:
        for state in await self._store.queue_states():
            if state.queue == queue:
                return state
        return QueueState(queue=queue, ready=0, running=0, held=0, waiting=0, oldest_ms=None, paused=False, note=None)
