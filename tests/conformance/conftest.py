"""The store, alone and as several have it. Where one thing happens after the other, whatever a sweep finds was told by `chores`: otherwise
nobody would have swept."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from tests.support.stores import StoreUnderTest

SWEEPS = {
    "sweep_cancelled": "cancels",
    "expire": "expiries",
    "sweep_awaiting": "awaiting",
    "free_held": "held",
    "sweep_gates": "gates",
    "forget_flows": "flows",
    "forget_keys": "keys",
}
ONE_BY_ONE = {
    "test_broken_off",
    "test_cancel_runs",
    "test_chores",
    "test_expiry",
    "test_fairness",
    "test_following",
    "test_gate_changes",
    "test_gates",
    "test_overlap",
    "test_quotas",
    "test_turns",
    "test_unique",
    "test_unique_moves",
}


@pytest.fixture
def store(under_test: StoreUnderTest, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.path.stem in ONE_BY_ONE:
        for sweep, chore in SWEEPS.items():
            monkeypatch.setattr(under_test.store, sweep, told(under_test.store, sweep, chore))
    return under_test.store


@pytest.fixture
async def stores(under_test: StoreUnderTest, request: pytest.FixtureRequest) -> AsyncIterator[list[Store]]:
    """The store as several processes have it; a file of SQLite has one owner."""
    async with AsyncExitStack() as stack:
        stores = [under_test.store]
        if under_test.dialect == "postgres":
            for _ in range(3):
                store = PostgresStore(request.getfixturevalue("emptied_dsn"))
                await store.open()
                stack.push_async_callback(store.close)
                stores.append(store)
        yield stores


def told(store: Store, sweep: str, chore: str) -> Callable[..., Awaitable[int]]:
    method = getattr(store, sweep)

    async def swept(**arguments: Any) -> int:
        chores = await store.chores()
        found: int = await method(**arguments)
        assert not found or getattr(chores, chore), f"{sweep} found {found}, and nobody was told to look"
        return found

    return swept
