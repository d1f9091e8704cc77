"""An hourly, a daily and a quarter-hourly job in each zone, on the virtual clock: the audit finds nothing missed and nothing doubled.

Every night on which clocks change in 2026 is walked through here; `make years` walks through every quarter of an hour of two years.
"""

from __future__ import annotations

from collections import Counter

import pytest

from dueline.testing import VirtualDueline

ZONES = (
    "America/New_York",
    "Europe/London",
    "Europe/Berlin",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Antarctica/Troll",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Pacific/Chatham",
    "UTC",
)
HOURLY, DAILY, QUARTERLY = "0 * * * *", "30 2 * * *", "*/15 * * * *"
CHANGES_2026 = {
    "Casablanca, for the month of fasting": "2026-02-14T12:00:00Z",
    "New York in spring": "2026-03-07T12:00:00Z",
    "Casablanca, after the month of fasting": "2026-03-21T12:00:00Z",
    "Europe and Troll in spring": "2026-03-28T12:00:00Z",
    "Lord Howe and Chatham in autumn": "2026-04-04T06:00:00Z",
    "Cairo in spring": "2026-04-23T12:00:00Z",
    "Chatham in spring": "2026-09-26T06:00:00Z",
    "Lord Howe in spring": "2026-10-03T06:00:00Z",
    "Europe and Troll in autumn": "2026-10-24T12:00:00Z",
    "Cairo in autumn": "2026-10-29T12:00:00Z",
    "New York in autumn": "2026-10-31T12:00:00Z",
}


class Walk:
    """Three jobs in each zone, and their accounts."""

    def __init__(self, dueline: VirtualDueline) -> None:
        self._dueline = dueline
        self._jobs = {
            (zone, expression): dueline.create_job(schedule={"cron": expression, "timezone": zone})["id"]
            for zone in ZONES
            for expression in (HOURLY, DAILY, QUARTERLY)
        }

    def check(self) -> Counter[tuple[str, str]]:
        """How many occurrences each of them had, all of them fired, in time, once."""
        called = Counter(call.job_id for call in self._dueline.calls)
        counts: Counter[tuple[str, str]] = Counter()
        for key, job_id in self._jobs.items():
            account = self._dueline.audit(job_id)
            assert (account["missed"], account["doubled"], account["late"]) == (0, 0, 0), (key, account)
            assert account["verdicts"] == {"fired": account["expected"]}, (key, account)
            assert called[job_id] == account["expected"], key
            counts[key] = account["expected"]
        assert all(call.at == call.scheduled_at for call in self._dueline.calls)
        return counts


@pytest.mark.parametrize("start", CHANGES_2026.values(), ids=CHANGES_2026)
def test_a_night_on_which_clocks_change(start: str) -> None:
    with VirtualDueline(start=start) as dueline:
        walk = Walk(dueline)
        dueline.advance("36h")
        counts = walk.check()
    for zone in ZONES:
        # Patterns that count hours follow real time; half past two comes once a night, whatever the clocks do. Where they are set
        # back by half an hour, full hours are once an hour and a half apart.
        assert counts[zone, HOURLY] in (35, 36, 37), zone
        assert counts[zone, QUARTERLY] == 36 * 4, zone
        assert 1 <= counts[zone, DAILY] <= 2, zone


@pytest.mark.long
def test_two_years() -> None:
    with VirtualDueline(start="2026-01-01T00:00:00Z") as dueline:
        walk = Walk(dueline)
        dueline.advance("730d")
        counts = walk.check()
    assert {counts[zone, QUARTERLY] for zone in ZONES} == {730 * 96}
    assert {counts[zone, DAILY] for zone in ZONES} <= {729, 730}
