"""What is set for tenants, on SQLite."""

from __future__ import annotations

from dueline.store.shapes import Tenant
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("tenants")


class TenantPart(Part):
    async def tenant(self, tenant: str) -> Tenant:
        return await self._database.read(_tenant, tenant)

    async def put_tenant(self, tenant: Tenant) -> Tenant:
        return await self._database.write(_put_tenant, tenant)

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        return await self._database.page(_tenants_page, after, limit)


def _tenant(session: Session, tenant: str) -> Tenant:
    for weight, updated_ms in session.rows(_SQL["get"], tenant):
        return Tenant(tenant=tenant, weight=weight, updated_ms=updated_ms)
    return Tenant(tenant=tenant)


def _put_tenant(session: Session, tenant: Tenant) -> Tenant:
    updated_ms = session.value(_SQL["put"], tenant.tenant, tenant.weight)
    return Tenant(tenant=tenant.tenant, weight=tenant.weight, updated_ms=updated_ms)


def _tenants_page(session: Session, after: str | None, limit: int) -> list[Tenant]:
    rows = session.rows(_SQL["page"], after or "", limit)
    return [Tenant(tenant=tenant, weight=weight, updated_ms=updated_ms) for tenant, weight, updated_ms in rows]
