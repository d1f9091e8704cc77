"""The judge's own account of schedules, against what a person would say."""

from __future__ import annotations

from typing import Any

import pytest

from proof.checker.cron import Unjudged, fires_ms
from proof.records import instant_ms


def within(since: str, until: str, **kind: Any) -> list[str]:
    found = fires_ms({**kind, "start_at": f"2026-03-29T{since}Z", "end_at": f"2026-03-29T{until}Z"})
    day_ms = instant_ms("2026-03-29T00:00:00Z")
    return [
        f"{at // 3_600_000:02}:{at // 60_000 % 60:02}:{at // 1000 % 60:02}" for at in (one - day_ms for one in found)
    ]


def test_each_kind_of_schedule() -> None:
    assert within("00:00:00", "00:00:03", every="PT1S") == ["00:00:00", "00:00:01", "00:00:02", "00:00:03"]
    assert within("00:00:00", "00:05:00", every="PT2M") == ["00:00:00", "00:02:00", "00:04:00"]
    assert within("00:00:58", "00:02:30", cron="* * * * *") == ["00:01:00", "00:02:00"]
    assert within("00:00:08", "00:00:21", cron="*/10 * * * * *") == ["00:00:10", "00:00:20"]
    assert within("00:00:00", "00:00:59", cron="5,10-12,50/4 * * * * *") == [
        f"00:00:{second:02}" for second in (5, 10, 11, 12, 50, 54, 58)
    ]
    assert fires_ms({"at": "2026-03-29T00:00:00Z"}) == [instant_ms("2026-03-29T00:00:00Z")]


def test_the_wall_clock_of_the_zone_counts() -> None:
    assert within("00:00:00", "01:00:00", cron="0 15 * * * *", timezone="Asia/Kathmandu") == ["00:30:00"]
    assert within("00:00:00", "02:00:00", cron="0 30 * * * *", timezone="Europe/Berlin") == ["00:30:00", "01:30:00"]


def test_days_fit_both_or_either() -> None:
    """29 March 2026 is a Sunday."""
    assert within("00:00:00", "00:01:00", cron="0 0 * * * 0") == ["00:00:00"]
    assert within("00:00:00", "00:01:00", cron="0 0 * * * 7") == ["00:00:00"]
    assert within("00:00:00", "00:01:00", cron="0 0 * * * 1") == []
    assert within("00:00:00", "00:01:00", cron="0 0 * 13 * 0") == ["00:00:00"]
    assert within("00:00:00", "00:01:00", cron="0 0 * 29 * 1") == ["00:00:00"]


@pytest.mark.parametrize(
    "schedule",
    [
        {"every": "PT1S"},
        {"every": "P1M", "start_at": "2026-03-29T00:00:00Z", "end_at": "2026-03-29T00:00:00Z"},
        {"cron": "0 9 * * *", "start_at": "2026-03-29T00:00:00Z", "end_at": "2026-03-29T00:00:00Z"},
        {"rrule": "FREQ=DAILY", "start_at": "2026-03-29T00:00:00Z", "end_at": "2026-03-29T00:00:00Z"},
    ],
)
def test_what_it_does_not_know_it_does_not_judge(schedule: dict[str, Any]) -> None:
    with pytest.raises(Unjudged):
        fires_ms(schedule)
