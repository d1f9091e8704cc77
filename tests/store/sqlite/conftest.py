"""Stores in files of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline.runtime.clock import ManualClock
from dueline.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dueline.db"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def store(path: Path, clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, clock)
    await store.open()
    await store.migrate()
    yield store
    await store.close()
