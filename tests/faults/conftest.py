"""The stores that tests of real processes look into."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline.store.postgres.store import PostgresStore


@pytest.fixture
async def postgres_store(postgres_dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_dsn)
    await store.open()
    yield store
    await store.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One after the other, wherever the others run: each has a fleet of processes, and looks at the clock."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("faults"))
