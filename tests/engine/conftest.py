"""What tests share that drive the engine by hand."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.support.target import Target
from tests.support.task_cluster import Gate


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        yield target


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """Open at the latest when the test is over, so that no task outlives it."""
    gate = Gate(tmp_path)
    yield gate
    gate.open()
