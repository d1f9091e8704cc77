"""Limits of queues and hosts: set, read with how they stand, taken away. Workers know of it within seconds."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from dueline.domain.errors import NotFound
from dueline.domain.gates import Limit, Scope
from dueline.store.sharing import GateStore


class StandingLimit(msgspec.Struct, frozen=True):
    """A limit, and how many runs have a place there now."""

    limit: Limit
    running: int


class LimitDesk:
    def __init__(self, store: GateStore) -> None:
        self._store = store

    async def put(self, limit: Limit) -> StandingLimit:
        """Set it, new or in place of the one that is there."""
        return await self._look(await self._store.put_limit(limit))

    async def get(self, scope: Scope, name: str) -> StandingLimit:
        for limit in await self._store.limits():
            if (limit.scope, limit.name) == (scope, name):
                return await self._look(limit)
        raise NotFound("limit", f"{scope}/{name}")

    async def page(self, scopes: Collection[Scope], *, after: str | None, limit: int) -> list[StandingLimit]:
        """By scope and name, above `scope/name`."""
        named = {f"{one.scope}/{one.name}": one for one in await self._store.limits() if one.scope in scopes}
        shown = sorted(place for place in named if after is None or place > after)[:limit]
        return [await self._look(named[place]) for place in shown]

    async def delete(self, scope: Scope, name: str) -> None:
        if not await self._store.delete_limit(scope, name):
            raise NotFound("limit", f"{scope}/{name}")

    async def _look(self, limit: Limit) -> StandingLimit:
        seen, _ = await self._store.look_at(limit.gate)
        return StandingLimit(limit, seen.taken)
