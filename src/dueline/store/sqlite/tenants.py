"""What is set for tenants, on SQLite."""

from __future__ import annotations

from dueline.domain.gates import Limit, Scope
from dueline.store.records import encode_quotas, to_tenant
from dueline.store.shapes import Tenant
from dueline.store.sqlite.limits import set_gate
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
    rows = session.rows(_SQL["get"], tenant)
    return to_tenant(rows[0]) if rows else Tenant(tenant=tenant)


def _put_tenant(session: Session, tenant: Tenant) -> Tenant:
    (row,) = session.rows(_SQL["put"], tenant.tenant, tenant.weight, encode_quotas(tenant.quotas))
    written = to_tenant(row)
    limit = written.quotas.limit(tenant.tenant, updated_ms=written.updated_ms)
    set_gate(session, limit or Limit(scope=Scope.TENANT, name=tenant.tenant, updated_ms=written.updated_ms))
    return written


def _tenants_page(session: Session, after: str | None, limit: int) -> list[Tenant]:
    return [to_tenant(row) for row in session.rows(_SQL["page"], after or "", limit)]
