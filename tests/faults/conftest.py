"""The stores that tests of real processes look into."""

from collections.abc import AsyncIterator

import pytest

from dueline.store.postgres.store import PostgresStore


@pytest.fixture
async def postgres_store(postgres_dsn: str) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(postgres_dsn)
    await store.open()
    yield store
    await store.close()
