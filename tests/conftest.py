"""What all tests share."""

import asyncio
import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dueline.store.postgres.store import PostgresStore
from tests.support.keys import ADMIN_KEY

pytest_plugins = ["tests.support.fixtures"]

os.environ["DUELINE_API_KEY"] = ADMIN_KEY
"""Clients that are told no key have the one of the servers that tests start."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""Also where it was ignored, as shells have it for what they start in the background: processes that tests start would not hear it."""


async def _migrate(dsn: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    try:
        await store.migrate()
    finally:
        await store.close()


def _migrate_on_a_thread(dsn: str) -> None:
    """On a thread, because a test may be the first to ask for a database while its own loop runs."""
    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(asyncio.run, _migrate(dsn)).result()


@pytest.fixture(scope="session")
def prepare_template() -> Callable[[str], None]:
    """What brings the template, from which every test's database is copied, to its state: the schema, and no rows."""
    return _migrate_on_a_thread


LONGEST = ("plans", "simulation", "model", "engine", "cli")
"""Folders whose files take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first: at the end no process has a long file before it while the others are done."""
    ranks = {Path(__file__).parent / folder: rank for rank, folder in enumerate(LONGEST)}
    items.sort(key=lambda item: min(ranks.get(folder, len(ranks)) for folder in item.path.parents))
