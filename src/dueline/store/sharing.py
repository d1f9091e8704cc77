"""The store, as far as many share something: gates that runs pass, and what is set for tenants. `protocol` tells what holds of all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from dueline.domain.gates import Gate, Limit, Scope, Seen, Wish
from dueline.domain.ids import RunId
from dueline.store.shapes import Tenant, TenantUse


class GateStore(Protocol):
    async def enter(self, wishes: Sequence[Wish], *, ahead_ms: int) -> dict[RunId, int]:
        """Have claimed runs pass their gates, by the rules of `domain.gates`; answers those that do, each with the instant from which on it
        may start, at most `ahead_ms` from now. Whoever is given first is asked first.

        A run that does not pass is held until there is room, and is not the worker's any more; so is one whose token does not match. Where
        its queue has no room it goes back, ready as before. Places are left when the run is not under way any more, by whichever move, in
        the same transaction; and those that waited for them become ready.
        """

    async def look_at(self, gate: Gate) -> tuple[Seen, int]:
        """A gate as it stands, and the time."""

    async def refill(self, *, ahead_ms: int, limit: int) -> None:
        """Make ready whoever waits for a token that comes within `ahead_ms`; `RunStore.upcoming` tells when."""

    async def sweep_gates(self, *, limit: int) -> int:
        """Recount places from live runs, let in who waits though there is room, and forget gates that nobody needs. Answers how many were
        let in, or forgotten if that is more."""

    async def limits(self) -> list[Limit]:
        """All that is set for queues, hosts and tenants."""

    async def put_limit(self, limit: Limit) -> Limit:
        """Set it anew for a queue or a host. Runs of the queue that are under way count from then on."""

    async def delete_limit(self, scope: Scope, name: str) -> bool:
        """Answers whether there was one. Whoever waited for it becomes ready."""


class TenantStore(Protocol):
    async def tenant(self, tenant: str) -> Tenant:
        """What is set for a tenant, or the defaults."""

    async def put_tenant(self, tenant: Tenant, *, seen_ms: int | None = None) -> Tenant:
        """Set it. Runs that become ready from now on are ranked by it. With `seen_ms`, raises Conflict unless that is when it was set last,
        and 0 unless it never was."""

    async def tenants_page(self, *, after: str | None, limit: int) -> list[Tenant]:
        """Tenants that something was set for, by name, above a name."""

    async def tenants_with_quotas(self) -> list[Tenant]: ...

    async def tenant_uses(self, tenants: Collection[str]) -> dict[str, TenantUse]:
        """What each of them has, counted now."""

    async def draw(self, gate: Gate, count: int) -> tuple[Seen, int]:
        """Take tokens from a gate's bucket, all of them or none; answers the gate as it stood before, by which they were taken if it says
        that nobody has to wait for so many, and the time."""
