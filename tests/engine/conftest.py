"""What tests share that drive the engine by hand."""

from collections.abc import AsyncIterator

import pytest

from tests.support.target import Target


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        yield target
