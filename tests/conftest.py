"""What all tests share."""

from collections.abc import Callable

import pytest

pytest_plugins = ["tests.support.fixtures"]


def _leave_empty(dsn: str) -> None:
    del dsn


@pytest.fixture(scope="session")
def prepare_template() -> Callable[[str], None]:
    """What brings the template, from which every test's database is copied, to its state: for now, nothing."""
    return _leave_empty
