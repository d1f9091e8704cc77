"""What is set for tenants, on PostgreSQL."""

from __future__ import annotations

from dueline.store.postgres.part import Part, queries
from dueline.store.shapes import Tenant

_SQL = queries("tenants")


class TenantPart(Part):
    async def tenant(self, tenant: str) -> Tenant:
        rows = await self._database.fetch(_SQL["get"], tenant)
        return Tenant(tenant=tenant, weight=rows[0][0], updated_ms=rows[0][1]) if rows else Tenant(tenant=tenant)

    async def put_tenant(self, tenant: Tenant) -> Tenant:
        updated_ms = await self._database.fetchval(_SQL["put"], tenant.tenant, tenant.weight)
        return Tenant(tenant=tenant.tenant, weight=tenant.weight, updated_ms=updated_ms)

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        rows = await self._database.fetch(_SQL["page"], after or "", limit)
        return [Tenant(tenant=row[0], weight=row[1], updated_ms=row[2]) for row in rows]
