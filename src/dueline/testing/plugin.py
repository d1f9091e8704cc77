"""The pytest plugin: a fixture `dueline`, and a marker `@pytest.mark.dueline(start="2026-03-28T00:00:00Z", app=app)` for where time begins
and whose tasks are carried out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from dueline.testing.virtual import VirtualDueline


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "dueline(start, app): where the clock of the fixture `dueline` begins, and whose tasks it carries out",
    )


@pytest.fixture
def dueline(request: pytest.FixtureRequest) -> Iterator[VirtualDueline]:
    """A scheduler of the test's own, on a clock that the test moves."""
    # Imported here: test runs that do not use the fixture need not load the engine.
    from dueline.testing.virtual import VirtualDueline

    marker = request.node.get_closest_marker("dueline")
    with VirtualDueline(**(marker.kwargs if marker else {})) as virtual:
        yield virtual
