"""Tenants: what is set for them, and what they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from dueline.domain.errors import Conflict
from dueline.engine.quotas import QuotaKeeper
from dueline.store.shapes import Tenant, TenantUse
from dueline.store.sharing import GateStore, TenantStore

_EDITS_TRIED = 3


class TenantsStore(TenantStore, GateStore, Protocol):
    """What tenants need of the store."""


class TenantState(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a tenant, and how much of it is used."""

    tenant: Tenant
    use: TenantUse
    asked: int | None
    """Runs that count against `run_now_per_minute` now; None where there is no such quota, and nobody counts."""


class Tenants:
    def __init__(self, store: TenantsStore, quotas: QuotaKeeper) -> None:
        self._store = store
        self._quotas = quotas

    async def get(self, tenant: str) -> TenantState:
        """One tenant. It is there as soon as somebody names it."""
        (state,) = await self._states([await self._store.tenant(tenant)])
        return state

    async def page(self, *, after: str | None, limit: int) -> list[TenantState]:
        """Those that something was set for, by name, above a name."""
        return await self._states(await self._store.tenants_page(after=after, limit=limit))

    async def put(self, tenant: Tenant) -> TenantState:
        await self._store.put_tenant(tenant)
        self._quotas.forget()
        return await self.get(tenant.tenant)

    async def edit(self, tenant: str, change: Callable[[Tenant], Tenant]) -> TenantState:
        """Change what is set. `change` gets it as it is, and may be asked again."""
        for _ in range(_EDITS_TRIED):
            before = await self._store.tenant(tenant)
            try:
                await self._store.put_tenant(change(before), seen_ms=before.updated_ms)
            except Conflict:
                continue
            self._quotas.forget()
            return await self.get(tenant)
        raise Conflict("the tenant was changed meanwhile: read it again, then decide")

    async def _states(self, tenants: Sequence[Tenant]) -> list[TenantState]:
        uses = await self._store.tenant_uses([one.tenant for one in tenants])
        return [TenantState(tenant=one, use=uses[one.tenant], asked=await self._asked(one)) for one in tenants]

    async def _asked(self, tenant: Tenant) -> int | None:
        gate = tenant.quotas.asking(tenant.tenant, updated_ms=tenant.updated_ms)
        if gate is None:
            return None
        seen, now_ms = await self._store.look_at(gate)
        return seen.spent(now_ms * 1000)
