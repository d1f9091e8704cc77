"""What is set for tenants, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy

from dueline.domain.errors import Conflict, OverQuota
from dueline.domain.gates import Gate, Limit, Scope, Seen
from dueline.store.postgres.gates import stand
from dueline.store.postgres.limits import set_gate
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import encode_quotas, to_tenant
from dueline.store.shapes import Tenant, TenantUse

_SQL = queries("tenants")
_GATES = queries("gates")


class TenantPart(Part):
    async def tenant(self, tenant: str) -> Tenant:
        rows = await self._database.fetch(_SQL["get"], tenant)
        return to_tenant(rows[0]) if rows else Tenant(tenant=tenant)

    async def put_tenant(self, tenant: Tenant, *, seen_ms: int | None = None) -> Tenant:
        async with self._database.transaction() as connection:
            args = (tenant.tenant, tenant.weight, encode_quotas(tenant.quotas), seen_ms)
            row = await connection.fetchrow(_SQL["put"], *args)
            if row is None:
                raise Conflict("somebody else changed the tenant meanwhile")
            written = to_tenant(row)
            limit = written.quotas.limit(tenant.tenant, updated_ms=written.updated_ms)
            nothing = Limit(scope=Scope.TENANT, name=tenant.tenant, updated_ms=written.updated_ms)
            await set_gate(connection, limit or nothing)
        return written

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        return [to_tenant(row) for row in await self._database.fetch(_SQL["page"], after or "", limit)]

    async def tenants_with_quotas(self) -> list[Tenant]:
        return [to_tenant(row) for row in await self._database.fetch(_SQL["with_quotas"])]

    async def tenant_uses(self, tenants: Collection[str]) -> dict[str, TenantUse]:
        rows = await self._database.fetch(_SQL["uses"], list(tenants))
        return {row[0]: TenantUse(jobs=row[1], running=row[2]) for row in rows}

    async def draw(self, gate: Gate, count: int) -> tuple[Seen, int]:
        async with self._database.transaction() as connection:
            before, now_ms = await stand(connection, gate)
            seen = copy(before)
            if not seen.wait_us(count, now_ms * 1000):
                seen.draw(count, now_ms * 1000)
                await connection.execute(_GATES["charge"], [gate.id], [seen.full_us], [None], [False])
        return before, now_ms


async def lock_tenant(connection: Connection, tenant: str) -> None:
    await connection.execute(_SQL["lock"], tenant)


async def check_jobs(connection: Connection, tenant: str, *, jobs_max: int, created: int) -> None:
    """Raise OverQuota if some of those that were just created are too many."""
    count = await connection.fetchval(_SQL["count_jobs"], tenant)
    if created and count > jobs_max:
        raise OverQuota("jobs", limit=jobs_max, used=count - created, asked=created)
