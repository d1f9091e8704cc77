"""API keys on SQLite."""

from __future__ import annotations

from dueline.domain.access import ApiKey, KeyRole
from dueline.domain.errors import Conflict
from dueline.domain.job import DEFAULT_TENANT
from dueline.store.access import last_admin
from dueline.store.records import new_key_columns, to_api_key
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("access")


class KeyPart(Part):
    async def api_key(self, key_id: str) -> ApiKey | None:
        return await self._database.read(_api_key, key_id)

    async def add_api_key(self, key: ApiKey) -> ApiKey:
        return await self._effect(b"", _add_api_key, key)

    async def add_first_api_key(self, key: ApiKey) -> ApiKey | None:
        return await self._database.write(_add_first_api_key, key)

    async def api_keys_page(self, tenant: str, *, after: str | None, limit: int) -> list[ApiKey]:
        return await self._database.page(_api_keys_page, tenant, after, limit)

    async def revoke_api_key(self, key_id: str) -> ApiKey | None:
        return await self._database.write(_revoke_api_key, key_id)


def _api_key(session: Session, key_id: str) -> ApiKey | None:
    rows = session.rows(_SQL["get"], key_id)
    return to_api_key(rows[0]) if rows else None


def _add_api_key(session: Session, key: ApiKey) -> ApiKey:
    rows = session.rows(_SQL["add"], *new_key_columns(key))
    if not rows:
        raise Conflict(f"there is a key {key.id} already")
    return to_api_key(rows[0])


def _add_first_api_key(session: Session, key: ApiKey) -> ApiKey | None:
    return None if session.value(_SQL["any"]) else _add_api_key(session, key)


def _api_keys_page(session: Session, tenant: str, after: str | None, limit: int) -> list[ApiKey]:
    return [to_api_key(row) for row in session.rows(_SQL["page"], tenant, after or "", limit)]


def _revoke_api_key(session: Session, key_id: str) -> ApiKey | None:
    rows = session.rows(_SQL["revoke"], key_id, DEFAULT_TENANT, KeyRole.ADMIN.value)
    if not rows and _api_key(session, key_id) is not None:
        raise last_admin()
    return to_api_key(rows[0]) if rows else None
