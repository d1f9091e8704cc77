"""Shards and their owners on SQLite."""

from __future__ import annotations

from collections.abc import Mapping

from dueline.domain.ids import BootId
from dueline.store.fleet import ShardLease
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("leases")


class LeasePart(Part):
    async def shards(self) -> list[ShardLease]:
        return await self._database.read(_shards)

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        return await self._database.write(_take_shards, owner, seen)

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        await self._database.write(_drop_shards, owner, epochs)


def _shards(session: Session) -> list[ShardLease]:
    return [ShardLease(*row) for row in session.rows(_SQL["list"])]


def _take_shards(session: Session, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
    return dict(session.rows(_SQL["take"], owner, pack(list(seen.items()))))


def _drop_shards(session: Session, owner: BootId, epochs: Mapping[int, int]) -> None:
    session.rows(_SQL["drop"], owner, pack(list(epochs.items())))
    session.wake("shards")
