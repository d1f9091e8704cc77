"""HTTP statuses as people name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.statuses import HIGHEST, LOWEST, SUCCESSES, StatusRange, holds, read_status, write_statuses


@pytest.mark.parametrize(
    ("term", "read"),
    [
        (200, (200, 200)),
        ("200", (200, 200)),
        ("2xx", (200, 299)),
        ("5XX", (500, 599)),
        ("200-204", (200, 204)),
        ("100-599", (100, 599)),
        ("204-204", (204, 204)),
    ],
)
def test_terms(term: int | str, read: StatusRange) -> None:
    assert read_status(term) == read


@pytest.mark.parametrize(
    "term", [0, 99, 600, -200, 2_000, "", "0xx", "6xx", "xx", "2x", "20x", "204-200", "2xx-3xx", " 200", "200,", "٢٠٠"]
)
def test_what_names_no_status(term: int | str) -> None:
    assert read_status(term) is None


statuses = st.integers(LOWEST, HIGHEST)
ranges = st.tuples(statuses, statuses).map(lambda ends: (min(ends), max(ends)))


@given(ranges)
def test_what_is_written_reads_as_the_same(status: StatusRange) -> None:
    (term,) = write_statuses([status])
    assert read_status(term) == status


def test_ranges_are_inclusive() -> None:
    assert write_statuses(SUCCESSES) == ["2xx"]
    assert [status for status in (199, 200, 299, 300) if holds(SUCCESSES, status)] == [200, 299]
    assert not holds((), 200)
    assert holds(((404, 404), (200, 204)), 203)
