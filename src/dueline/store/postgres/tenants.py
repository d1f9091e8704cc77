"""What is set for tenants, on PostgreSQL."""

from __future__ import annotations

from dueline.domain.gates import Limit, Scope
from dueline.store.postgres.limits import set_gate
from dueline.store.postgres.part import Part, queries
from dueline.store.records import encode_quotas, to_tenant
from dueline.store.shapes import Tenant

_SQL = queries("tenants")


class TenantPart(Part):
    async def tenant(self, tenant: str) -> Tenant:
        rows = await self._database.fetch(_SQL["get"], tenant)
        return to_tenant(rows[0]) if rows else Tenant(tenant=tenant)

    async def put_tenant(self, tenant: Tenant) -> Tenant:
        async with self._database.transaction() as connection:
            args = (tenant.tenant, tenant.weight, encode_quotas(tenant.quotas))
            written = to_tenant(await connection.fetchrow(_SQL["put"], *args))
            limit = written.quotas.limit(tenant.tenant, updated_ms=written.updated_ms)
            nothing = Limit(scope=Scope.TENANT, name=tenant.tenant, updated_ms=written.updated_ms)
            await set_gate(connection, limit or nothing)
        return written

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        return [to_tenant(row) for row in await self._database.fetch(_SQL["page"], after or "", limit)]
