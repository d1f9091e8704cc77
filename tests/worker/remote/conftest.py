"""A server without a worker of its own, a target, and who works for the server."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.support.target import Target
from tests.worker.remote.hiring import Hired

Hire = Callable[..., Awaitable[Hired]]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        yield target


@pytest.fixture
async def hire(api: ServedApi) -> AsyncIterator[Hire]:
    hired: list[Hired] = []

    async def hire(**options: Any) -> Hired:
        worker = Hired(api, **options)
        await worker.join()
        hired.append(worker)
        return worker

    yield hire
    for worker in hired:
        await worker.close()
