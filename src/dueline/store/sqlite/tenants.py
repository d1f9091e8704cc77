"""What is set for tenants, on SQLite."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy

from dueline.domain.errors import Conflict, OverQuota
from dueline.domain.gates import Gate, Limit, Scope, Seen
from dueline.store.records import encode_quotas, to_tenant
from dueline.store.shapes import Tenant, TenantUse
from dueline.store.sqlite.gates import stand
from dueline.store.sqlite.limits import set_gate
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("tenants")
_GATES = queries("gates")


class TenantPart(Part):
    async def tenant(self, tenant: str) -> Tenant:
        return await self._database.read(_tenant, tenant)

    async def put_tenant(self, tenant: Tenant, *, seen_ms: int | None = None) -> Tenant:
        return await self._database.write(_put_tenant, tenant, seen_ms)

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        return await self._database.page(_tenants_page, after, limit)

    async def tenants_with_quotas(self) -> list[Tenant]:
        return await self._database.read(_tenants_with_quotas)

    async def tenant_uses(self, tenants: Collection[str]) -> dict[str, TenantUse]:
        return await self._database.page(_tenant_uses, tenants)

    async def draw(self, gate: Gate, count: int) -> tuple[Seen, int]:
        return await self._database.write(_draw, gate, count)


def check_jobs(session: Session, tenant: str, *, jobs_max: int, created: int) -> None:
    """Raise OverQuota if some of those that were just created are too many."""
    count = session.value(_SQL["count_jobs"], tenant)
    if created and count > jobs_max:
        raise OverQuota("jobs", limit=jobs_max, used=count - created, asked=created)


def _tenant(session: Session, tenant: str) -> Tenant:
    rows = session.rows(_SQL["get"], tenant)
    return to_tenant(rows[0]) if rows else Tenant(tenant=tenant)


def _put_tenant(session: Session, tenant: Tenant, seen_ms: int | None) -> Tenant:
    rows = session.rows(_SQL["put"], tenant.tenant, tenant.weight, encode_quotas(tenant.quotas), seen_ms)
    if not rows:
        raise Conflict("somebody else changed the tenant meanwhile")
    written = to_tenant(rows[0])
    limit = written.quotas.limit(tenant.tenant, updated_ms=written.updated_ms)
    set_gate(session, limit or Limit(scope=Scope.TENANT, name=tenant.tenant, updated_ms=written.updated_ms))
    return written


def _tenants_page(session: Session, after: str | None, limit: int) -> list[Tenant]:
    return [to_tenant(row) for row in session.rows(_SQL["page"], after or "", limit)]


def _tenants_with_quotas(session: Session) -> list[Tenant]:
    return [to_tenant(row) for row in session.rows(_SQL["with_quotas"])]


def _tenant_uses(session: Session, tenants: Collection[str]) -> dict[str, TenantUse]:
    rows = session.rows(_SQL["uses"], pack(list(tenants)))
    return {tenant: TenantUse(jobs=jobs, running=running) for tenant, jobs, running in rows}


def _draw(session: Session, gate: Gate, count: int) -> tuple[Seen, int]:
    before, now_us = stand(session, [gate])[gate.id], session.now_ms * 1000
    seen = copy(before)
    if not seen.wait_us(count, now_us):
        seen.draw(count, now_us)
        session.rows(_GATES["charge"], pack([(gate.id.hex(), seen.full_us, None)]))
    return before, session.now_ms
