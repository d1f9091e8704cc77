"""Processes on PostgreSQL."""

from __future__ import annotations

import asyncpg
import msgspec

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.store.fleet import Beat, NewNode, Node
from dueline.store.postgres.part import Part, queries
from dueline.store.records import to_node

_SQL = queries("members")
_BEAT_TIMEOUT_S = 3.0
"""A beat that takes longer has failed: the next one gets a new connection while the lease still holds."""


class MemberPart(Part):
    async def register(self, node: NewNode, *, lease_s: float) -> None:
        await self._database.fetch(
            _SQL["register"],
            node.boot_id,
            node.role,
            node.host,
            node.pid,
            node.version,
            int(lease_s * 1000),
            node.queues,
            node.labels,
            node.slots,
        )

    async def beat(self, boot_id: BootId, *, lease_s: float, busy: int = 0) -> Beat:
        row = await self._database.on_own(
            "beat",
            lambda connection: connection.fetchrow(_SQL["beat"], boot_id, int(lease_s * 1000), busy),
            timeout_s=_BEAT_TIMEOUT_S,
        )
        if row is None:
            raise LeaseLost(f"{boot_id} was declared dead")
        return Beat(row[0], row[1])

    async def ask_drain(self, boot_id: BootId) -> bool:
        return bool(await self._database.fetch(_SQL["ask_drain"], boot_id))

    async def drain(self, boot_id: BootId) -> None:
        await self._database.fetch(_SQL["drain"], boot_id)
        self._notices.announce("shards")

    async def leave(self, boot_id: BootId) -> None:
        await self._database.fetch(_SQL["leave"], boot_id)

    async def bury(self, boot_id: BootId) -> bool:
        return bool(await self._database.fetch(_SQL["bury"], boot_id))

    async def nodes(self) -> list[Node]:
        return [_to_node(row) for row in await self._database.fetch(_SQL["list"])]


def _to_node(row: asyncpg.Record) -> Node:
    queues, labels, slots, busy, beat_ms = row[9:]
    return msgspec.structs.replace(
        to_node(row), queues=tuple(queues), labels=tuple(labels), slots=slots, busy=busy, beat_ms=beat_ms
    )
