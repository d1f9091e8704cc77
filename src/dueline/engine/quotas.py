"""What tenants may have and do, as far as it is decided when somebody asks for something."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar

from dueline.domain import limits
from dueline.domain.quotas import Allowance, Quotas
from dueline.engine.looks import Look
from dueline.runtime.clock import Clock
from dueline.store.shapes import Tenant
from dueline.store.sharing import TenantStore

_NOTHING = Quotas()


class Asking:
    """A request, and what it learnt of a quota that it counts against, for whoever answers it."""

    def __init__(self) -> None:
        self.allowance: Allowance | None = None


ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)
"""The request in hand."""


class QuotaKeeper:
    """Knows the quotas of tenants, as of some seconds ago; what counts against them is in the store. A tenant without any pays no more
    than a look into memory."""

    def __init__(self, store: TenantStore, clock: Clock) -> None:
        self._store = store
        self._known = Look(self._read, clock, fresh_s=limits.LIMITS_FRESH_S)

    async def of(self, tenant: str) -> Quotas:
        known = (await self._known.take()).get(tenant)
        return _NOTHING if known is None else known.quotas

    async def take_runs(self, tenant: str, count: int) -> None:
        """Count runs that somebody asks for, or raise OverQuota. What is counted stays so, also if nothing comes of it."""
        known = (await self._known.take()).get(tenant)
        if known is None:
            return
        gate = known.quotas.asking(tenant, updated_ms=known.updated_ms)
        if gate is not None:
            seen, now_ms = await self._store.draw(gate, count)
            asking = ASKING.get()
            if asking is not None:
                asking.allowance = known.quotas.left_to_ask(seen, count, now_ms=now_ms)
            known.quotas.check_asking(seen, count, now_ms=now_ms)

    def forget(self) -> None:
        """Something was set: what is asked for from now on is decided by it."""
        self._known.forget()

    async def _read(self) -> Mapping[str, Tenant]:
        return {one.tenant: one for one in await self._store.tenants_with_quotas()}
