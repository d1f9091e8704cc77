"""Words for stories about who is served when many wait."""

from collections import Counter
from typing import Any

from dueline.domain.ids import BootId
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Tenant
from tests.support.stores import a_run, claim, enqueue, register

W1 = BootId("w1")


async def wait_with(store: Store, tenant: str, runs: int, **fields: Any) -> None:
    """Some more runs of a tenant, all at once."""
    await enqueue(store, *(a_run(tenant=tenant, **fields) for _ in range(runs)))


async def weigh(store: Store, **weights: float) -> None:
    for tenant, weight in weights.items():
        await store.put_tenant(Tenant(tenant=tenant, weight=weight))


async def serve(store: Store, runs: int, *, at_a_time: int = 10) -> list[Claim]:
    """The next so many runs, about in the order in which they are served: a claim has no order."""
    await register(store)
    served: list[Claim] = []
    while len(served) < runs and (claims := await claim(store, W1, limit=min(at_a_time, runs - len(served)))):
        served += claims
    return served


async def shares(store: Store, runs: int) -> Counter[str]:
    """How many of the next so many runs are whose."""
    return Counter(claimed.tenant for claimed in await serve(store, runs))
