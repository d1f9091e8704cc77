"""Shards and their owners on PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping

from dueline.domain.ids import BootId
from dueline.store.fleet import ShardLease
from dueline.store.postgres.part import Part, queries

_SQL = queries("leases")


class LeasePart(Part):
    async def shards(self) -> list[ShardLease]:
        return [ShardLease(*row) for row in await self._database.fetch(_SQL["list"])]

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        rows = await self._database.fetch(_SQL["take"], owner, list(seen.keys()), list(seen.values()))
        return {row[0]: row[1] for row in rows}

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        await self._database.fetch(_SQL["drop"], owner, list(epochs.keys()), list(epochs.values()))
        self._notices.announce("shards")
