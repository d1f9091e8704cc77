"""Any line of a crontab fires when cron would fire it: around the nights on which clocks change, and in any month."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dueline.moving.entries import Outcome
from tests.moving.moved import differ, only

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Tokyo"]
PERIODS = [
    ("2026-03-07T00:00:00Z", 3),
    ("2026-03-28T00:00:00Z", 9),
    ("2026-04-22T00:00:00Z", 4),
    ("2026-10-03T00:00:00Z", 3),
    ("2026-10-24T00:00:00Z", 9),
    ("2027-02-01T00:00:00Z", 28),
]


def field(low: int, high: int, names: list[str] | None = None) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.tuples(numbers, numbers).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.integers(1, high + 2)
    terms = [
        numbers.map(str),
        ranges,
        st.tuples(ranges, steps).map(lambda pair: f"{pair[0]}/{pair[1]}"),
        steps.map(lambda step: f"*/{step}"),
    ]
    if names:
        terms.append(st.sampled_from(names))
    listed = st.lists(st.one_of(terms), min_size=1, max_size=3).map(",".join)
    return st.one_of(st.just("*"), listed)


LINES = st.tuples(
    field(0, 59),
    st.one_of(field(0, 23), st.sampled_from(["0", "1", "2", "2,3", "1-3"])),
    st.one_of(st.just("*"), field(1, 31)),
    st.one_of(st.just("*"), field(1, 12, ["jan", "Mar", "oct"])),
    st.one_of(st.just("*"), field(0, 7, ["sun", "MON", "fri"])),
).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(LINES, st.sampled_from(ZONES), st.sampled_from(PERIODS))
def test_a_line_fires_as_cron_does(line: str, zone: str, period: tuple[str, int]) -> None:
    entry = only("crontab", f"{line} command", timezone=zone)
    assume(entry.outcome is Outcome.CONVERTED)
    assert differ(entry, *period) == []
