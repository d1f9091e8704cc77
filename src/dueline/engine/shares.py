"""Who shares a queue: what each tenant is entitled to, what it got, and whose runs went while its own waited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.rates import turns_of
from dueline.runtime.clock import StoreTime
from dueline.store.fleet import MemberStore
from dueline.store.protocol import ReadStore
from dueline.store.sharing import TenantStore

_DELAYING_SHOWN = 5


class SharesStore(MemberStore, ReadStore, TenantStore, Protocol):
    """What this needs of the store."""


class TenantShare(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant in one queue. Shares are parts of all that was taken from the queue in the last minute or so."""

    tenant: str
    weight: float
    ready: int
    oldest_age_ms: int | None
    rate: float
    """Runs a second that were taken."""
    used: float | None
    entitled: float
    """By its weight, among all who wait or got something."""
    delayed_by: dict[str, float] = {}
    """While it waits: the shares of others that got most."""


class Shares:
    def __init__(self, store: SharesStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def of_queue(self, queue: str) -> list[TenantShare]:
        """Everybody who has something ready, or got something lately; those who got most first."""
        waiting = {one.tenant: one for one in await self._store.waiting_in(queue, limit=limits.SHARES_SHOWN_MAX)}
        rates: dict[str, float] = {}
        for node in await self._store.nodes():
            for tenant, rate in turns_of(node.rates, queue).items() if not node.expired else ():
                rates[tenant] = rates.get(tenant, 0.0) + rate
        weights = {tenant: one.weight for tenant, one in waiting.items()}
        for tenant in rates.keys() - weights.keys():
            weights[tenant] = (await self._store.tenant(tenant)).weight
        now_ms, taken, all_weights = self._time().now_ms(), sum(rates.values()), sum(weights.values())
        used = {tenant: rate / taken for tenant, rate in sorted(rates.items(), key=_most_first)} if taken else {}
        found = []
        for tenant, weight in weights.items():
            one = waiting.get(tenant)
            found.append(
                TenantShare(
                    tenant=tenant,
                    weight=weight,
                    ready=0 if one is None else one.ready,
                    oldest_age_ms=None if one is None else max(now_ms - one.oldest_ms, 0),
                    rate=rates.get(tenant, 0.0),
                    used=used.get(tenant, 0.0) if taken else None,
                    entitled=weight / all_weights,
                    delayed_by={} if one is None else _others(used, tenant),
                )
            )
        return sorted(found, key=lambda share: (-share.rate, -share.ready, share.tenant))


def _most_first(pair: tuple[str, float]) -> tuple[float, str]:
    return (-pair[1], pair[0])


def _others(used: dict[str, float], tenant: str) -> dict[str, float]:
    return dict([pair for pair in used.items() if pair[0] != tenant][:_DELAYING_SHOWN])
