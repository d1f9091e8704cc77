"""API keys on PostgreSQL."""

from __future__ import annotations

from dueline.domain.access import ApiKey, KeyRole
from dueline.domain.errors import Conflict
from dueline.domain.job import DEFAULT_TENANT
from dueline.store.access import last_admin
from dueline.store.postgres.part import Part, queries
from dueline.store.records import new_key_columns, to_api_key

_SQL = queries("access")


class KeyPart(Part):
    async def api_key(self, key_id: str) -> ApiKey | None:
        rows = await self._database.fetch(_SQL["get"], key_id)
        return to_api_key(rows[0]) if rows else None

    async def add_api_key(self, key: ApiKey) -> ApiKey:
        async with self._effect() as connection:
            rows = await connection.fetch(_SQL["add"], *new_key_columns(key))
            if not rows:
                raise Conflict(f"there is a key {key.id} already")
        return to_api_key(rows[0])

    async def add_first_api_key(self, key: ApiKey) -> ApiKey | None:
        async with self._database.transaction() as connection:
            await connection.execute(_SQL["lock"])
            if await connection.fetchval(_SQL["any"]):
                return None
            (row,) = await connection.fetch(_SQL["add"], *new_key_columns(key))
        return to_api_key(row)

    async def api_keys_page(self, tenant: str, *, after: str | None, limit: int) -> list[ApiKey]:
        return [to_api_key(row) for row in await self._database.fetch(_SQL["page"], tenant, after or "", limit)]

    async def revoke_api_key(self, key_id: str) -> ApiKey | None:
        async with self._database.transaction() as connection:
            await connection.execute(_SQL["lock"])
            rows = await connection.fetch(_SQL["revoke"], key_id, DEFAULT_TENANT, KeyRole.ADMIN.value)
            if not rows and await connection.fetch(_SQL["get"], key_id):
                raise last_admin()
        return to_api_key(rows[0]) if rows else None
