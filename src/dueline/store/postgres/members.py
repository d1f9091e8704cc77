"""Processes on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.store.fleet import NO_RATES, Beat, NewNode, Node, Pulse
from dueline.store.postgres.part import Part, queries
from dueline.store.records import encode_rates, to_node, to_pulse

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
            node.tasks,
            node.slots,
        )

    async def beat(
        self, boot_id: BootId, *, lease_s: float, busy: int = 0, rates: Mapping[str, float] = NO_RATES
    ) -> Beat:
        row = await self._database.on_own(
            "beat",
            lambda connection: connection.fetchrow(
                _SQL["beat"], boot_id, int(lease_s * 1000), busy, encode_rates(rates)
            ),
            timeout_s=_BEAT_TIMEOUT_S,
        )
        if row is None:
            raise LeaseLost(f"{boot_id} was declared dead")
        return Beat(row[0], row[1])

    async def ask_drain(self, boot_id: BootId) -> bool:
        asked = bool(await self._database.fetch(_SQL["ask_drain"], boot_id))
        if asked:
            self._notices.announce("drain")
        return asked

    async def drain(self, boot_id: BootId) -> None:
        await self._database.fetch(_SQL["drain"], boot_id)
        self._notices.announce("shards")

    async def leave(self, boot_id: BootId) -> None:
        await self._database.fetch(_SQL["leave"], boot_id)

    async def bury(self, boot_id: BootId) -> bool:
        return bool(await self._database.fetch(_SQL["bury"], boot_id))

    async def nodes(self) -> list[Node]:
        return [to_node(row, tuple) for row in await self._database.fetch(_SQL["list"])]

    async def pulses(self) -> list[Pulse]:
        return [to_pulse(row) for row in await self._database.fetch(_SQL["pulses"])]
