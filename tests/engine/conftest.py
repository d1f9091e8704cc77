"""Both stores, for tests that drive the engine by hand."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.stores import StoreUnderTest, postgres_under_test, sqlite_under_test


@pytest.fixture(params=["sqlite", "postgres"])
async def under_test(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[StoreUnderTest]:
    if request.param == "postgres":
        opening = postgres_under_test(request.getfixturevalue("postgres_dsn"))
    else:
        opening = sqlite_under_test(tmp_path / "dueline.db")
    async with opening as under_test:
        yield under_test
