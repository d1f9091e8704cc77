"""A year of a job and of its source, side by side."""

from typing import Any

import msgspec
import pytest

from dueline.moving.entries import Entry
from dueline.moving.verifying import Verdict, verify
from tests.moving.moved import NOW_MS, converted, only


def compared(entry: Entry) -> Any:
    return verify(entry, since_ms=NOW_MS, source="there")


def test_what_is_the_same_is_told_to_be() -> None:
    found = compared(only("crontab", "30 2 * * 1-5 x", timezone="Europe/Berlin"))
    assert (found.verdict, found.fires, found.differences) == (Verdict.SAME, 262, 0)
    assert found.until == "2027-01-02T00:00:00Z"


def test_the_first_differences_are_told_with_the_clock() -> None:
    text = "timezone = 'Europe/Berlin'\nbeat_schedule = {'a': {'task': 't', 'schedule': crontab(minute=0)}}"
    found = compared(only("celery-beat", text))
    assert (found.verdict, found.differences) == (Verdict.DIFFERS, 1)
    (first,) = found.first
    assert (first.utc, first.local, first.only) == ("2026-10-25T01:00:00Z", "2026-10-25T02:00:00+01:00", "Dueline")
    assert first.clocks_change


def test_a_wrong_conversion_would_be_found() -> None:
    right = only("crontab", "0 9 13 * 5 x")
    wrong = only("crontab", "0 9 13 * * x")
    found = compared(msgspec.structs.replace(wrong, oracle=right.oracle))
    assert found.verdict is Verdict.DIFFERS
    assert len(found.first) == 5
    assert {one.only for one in found.first} == {"there"}
    assert not found.first[0].clocks_change
    found = compared(msgspec.structs.replace(right, oracle=wrong.oracle))
    assert {one.only for one in found.first} == {"Dueline"}


def test_more_than_can_be_compared_is_compared_up_to_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dueline.moving.verifying.FIRES_MAX", 100)
    found = compared(only("crontab", "* * * * * x"))
    assert (found.verdict, found.fires, found.until) == (Verdict.SAME, 100, "2026-01-01T01:40:00Z")


def test_what_nobody_can_know_is_not_compared() -> None:
    found = compared(msgspec.structs.replace(only("crontab", "* * * * * x"), oracle=None))
    assert found.verdict is Verdict.NOT_COMPARED
    assert found.reason


def test_once_and_so_many_times() -> None:
    text = (
        "s.add_job(f, 'date', run_date='2026-12-24 18:00:00')\ns.add_job(g, 'interval', hours=5, end_date='2026-02-01')"
    )
    once, rate = converted("apscheduler", text)
    assert (compared(once).verdict, compared(once).fires) == (Verdict.SAME, 1)
    assert (compared(rate).verdict, compared(rate).fires) == (Verdict.SAME, 148)
