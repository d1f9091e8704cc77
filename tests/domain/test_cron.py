"""When cron expressions fire: by the manuals, and on nights when clocks change."""

import pytest

from dueline.domain import cron, limits
from dueline.domain.calendar_days import Days, days_of_month
from dueline.domain.cron import check_cron
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import DstGap, DstOverlap, Stretch, stretches
from tests.domain.cron_times import fires, next_s

NOW_MS = 1_767_225_600_000
NOW_S = NOW_MS // 1000
AFTER, SKIP, BEFORE = DstGap
FIRST, SECOND, BOTH = DstOverlap


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("* * * * *", "2026-01-01T00:01:00+00:00"),
        ("*/15 * * * *", "2026-01-01T00:15:00+00:00"),
        ("30 9 * * mon-fri", "2026-01-01T09:30:00+00:00"),
        ("0 0 * * 0", "2026-01-04T00:00:00+00:00"),
        ("0 0 * * 7", "2026-01-04T00:00:00+00:00"),
        ("0 0 * JAN SUN", "2026-01-04T00:00:00+00:00"),
        ("0 0 L * *", "2026-01-31T00:00:00+00:00"),
        ("0 0 LW * *", "2026-01-30T00:00:00+00:00"),
        ("0 0 * * 5L", "2026-01-30T00:00:00+00:00"),
        ("0 0 * * MON#2", "2026-01-12T00:00:00+00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00:00+00:00"),
        ("0 0 * 2 MON#5", "2044-02-29T00:00:00+00:00"),
        ("0 0 13 * 5", "2026-01-02T00:00:00+00:00"),
        ("* * * * * *", "2026-01-01T00:00:01+00:00"),
        ("*/20 * * * * *", "2026-01-01T00:00:20+00:00"),
        ("15 30 9 * * *", "2026-01-01T09:30:15+00:00"),
    ],
)
def test_an_expression_fires_first_at(expression: str, first: str) -> None:
    assert check_cron(expression, "UTC", now_ms=NOW_MS).expression == expression
    assert fires(expression, "UTC", "2026-01-01T00:00:00+00:00", 1) == [first]


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 31 2 *"])
def test_an_expression_that_never_fires_is_refused_and_told_so(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="never fires"):
        check_cron(expression, "UTC", now_ms=NOW_MS)


def test_the_zone_decides_what_midnight_is() -> None:
    assert fires("0 0 * * *", "Asia/Kathmandu", "2026-01-01T12:00:00+00:00", 1) == ["2026-01-02T00:00:00+05:45"]


def test_a_time_that_the_clocks_jump_over_fires_when_they_have_jumped() -> None:
    assert fires("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]


def test_a_time_that_the_clocks_show_twice_fires_once_the_first_time() -> None:
    assert fires("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_an_interval_goes_on_in_real_time_while_the_clocks_are_put_forth() -> None:
    assert fires("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:00:00", 3) == [
        "2026-03-29T01:30:00+01:00",
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T03:30:00+02:00",
    ]


def test_an_interval_goes_on_in_real_time_while_the_clocks_are_put_back() -> None:
    assert fires("*/30 * * * *", "Europe/Berlin", "2026-10-25T02:00:00+02:00", 4) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:00:00+01:00",
    ]


def test_an_hour_that_is_shown_again_is_found_though_the_next_match_lies_a_year_ahead() -> None:
    assert fires("*/30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:45:00+02:00", 3, overlap=BOTH) == [
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2027-10-25T02:00:00+02:00",
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        # crontab(5): five minutes after midnight, every day.
        ("5 0 * * *", ["2026-01-01T00:05:00+00:00", "2026-01-02T00:05:00+00:00"]),
        # At 14:15 on the first of every month.
        ("15 14 1 * *", ["2026-01-01T14:15:00+00:00", "2026-02-01T14:15:00+00:00"]),
        # At 22:00 on weekdays.
        ("0 22 * * 1-5", ["2026-01-01T22:00:00+00:00", "2026-01-02T22:00:00+00:00", "2026-01-05T22:00:00+00:00"]),
        # 23 minutes after every second hour.
        ("23 0-23/2 * * *", ["2026-01-01T00:23:00+00:00", "2026-01-01T02:23:00+00:00"]),
        ("5 4 * * sun", ["2026-01-04T04:05:00+00:00", "2026-01-11T04:05:00+00:00"]),
        # At 04:30 on the 1st and 15th of each month, and on every Friday.
        ("30 4 1,15 * 5", ["2026-01-01T04:30:00+00:00", "2026-01-02T04:30:00+00:00", "2026-01-09T04:30:00+00:00",
                           "2026-01-15T04:30:00+00:00", "2026-01-16T04:30:00+00:00"]),
        # Debian: with a star in front both must fit, so this is no way to say "every other day or Friday".
        ("0 0 */2 * 5", ["2026-01-09T00:00:00+00:00", "2026-01-23T00:00:00+00:00"]),
    ],
)  # fmt: skip
def test_the_examples_of_the_manual_page(expression: str, expected: list[str]) -> None:
    assert fires(expression, "UTC", "2026-01-01T00:00:00", len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 15 10 ? * MON-FRI", ["2026-01-01", "2026-01-02", "2026-01-05"]),
        ("0 15 10 * * ? 2028", ["2028-01-01", "2028-01-02"]),
        ("0 15 10 15 * ?", ["2026-01-15", "2026-02-15"]),
        ("0 15 10 L * ?", ["2026-01-31", "2026-02-28", "2026-03-31"]),
        ("0 15 10 L-2 * ?", ["2026-01-29", "2026-02-26", "2026-03-29"]),
        ("0 15 10 LW * ?", ["2026-01-30", "2026-02-27", "2026-03-31"]),
        # The 15th is a Thursday, a Sunday, a Sunday, a Wednesday, a Friday; of August it is a Saturday.
        ("0 15 10 15W * ?", ["2026-01-15", "2026-02-16", "2026-03-16", "2026-04-15", "2026-05-15"]),
        ("0 15 10 15W 8 ?", ["2026-08-14", "2027-08-16"]),
        # 1 August 2026 is a Saturday: not a day of July.
        ("0 15 10 1W 8 ?", ["2026-08-03", "2027-08-02"]),
        # 31 May 2026 is a Sunday: not a day of June.
        ("0 15 10 31W 4,5 ?", ["2026-05-29", "2027-05-31"]),
        ("0 15 10 ? * FRIL", ["2026-01-30", "2026-02-27", "2026-03-27"]),
        ("0 15 10 ? * 5L 2027-2028", ["2027-01-29", "2027-02-26"]),
        ("0 15 10 ? * FRI#3", ["2026-01-16", "2026-02-20"]),
        ("0 15 10 ? * MON#5", ["2026-03-30", "2026-06-29"]),
        ("0 15 10 1,L * ?", ["2026-01-01", "2026-01-31", "2026-02-01"]),
        ("0 15 10 ? 2 MON#2,MON#4", ["2026-02-09", "2026-02-23"]),
    ],
)
def test_the_special_letters_of_quartz(expression: str, expected: list[str]) -> None:
    assert [text[:10] for text in fires(expression, "UTC", "2026-01-01T00:00:00", len(expected))] == expected


@pytest.mark.parametrize(
    ("gap", "expected"),
    [
        (AFTER, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        (SKIP, ["2026-03-30T02:30:00+02:00", "2026-03-31T02:30:00+02:00"]),
        (BEFORE, ["2026-03-29T01:30:00+01:00", "2026-03-30T02:30:00+02:00"]),
    ],
)
def test_a_gap_by_policy(gap: DstGap, expected: list[str]) -> None:
    assert fires("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", 2, gap) == expected


@pytest.mark.parametrize(
    ("overlap", "expected"),
    [
        (FIRST, ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        (SECOND, ["2026-10-25T02:30:00+01:00", "2026-10-26T02:30:00+01:00"]),
        (BOTH, ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
    ],
)
def test_an_overlap_by_policy(overlap: DstOverlap, expected: list[str]) -> None:
    assert fires("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", 2, overlap=overlap) == expected


@pytest.mark.parametrize(
    ("expression", "zone", "since", "gap", "expected"),
    [
        # What falls into the gap and what follows on it are one occurrence.
        ("0,30 2,3 * * *", "Europe/Berlin", "2026-03-29T01:59:00", AFTER, ["2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"]),
        ("* 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00", AFTER, ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"]),
        # Shifted back, a later time of day can come before an earlier one.
        ("30 1,2 * * *", "Europe/Berlin", "2026-03-29T00:00:00", BEFORE, ["2026-03-29T01:30:00+01:00", "2026-03-30T01:30:00+02:00"]),
        ("45 1 29 3 *", "Europe/Berlin", "2026-03-29T00:00:00", BEFORE, ["2026-03-29T01:45:00+01:00"]),
        ("15,45 1,2 * * *", "Europe/Berlin", "2026-03-29T01:20:00", BEFORE, ["2026-03-29T01:45:00+01:00", "2026-03-30T01:15:00+02:00"]),
        # Midnight itself is missing, and half an hour of Lord Howe, and two hours of Troll.
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00", AFTER, ["2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"]),
        ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00", BEFORE, ["2018-11-03T23:00:00-03:00", "2018-11-05T00:00:00-02:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T00:00:00", AFTER, ["2026-10-04T02:30:00+11:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-04T00:00:00", BEFORE, ["2026-10-04T01:45:00+10:30"]),
        ("59 2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00", AFTER, ["2026-03-29T03:00:00+02:00"]),
        ("59 2 * * *", "Antarctica/Troll", "2026-03-29T00:00:00", BEFORE, ["2026-03-29T00:59:00+00:00"]),
        # A whole day is missing.
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", AFTER, ["2011-12-31T00:00:00+14:00", "2012-12-30T09:00:00+14:00"]),
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", SKIP, ["2012-12-30T09:00:00+14:00"]),
        ("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00", BEFORE, ["2011-12-29T09:00:00-10:00", "2012-12-30T09:00:00+14:00"]),
    ],
)  # fmt: skip
def test_gaps_of_every_kind(expression: str, zone: str, since: str, gap: DstGap, expected: list[str]) -> None:
    assert fires(expression, zone, since, len(expected), gap) == expected


def test_a_day_is_not_over_when_the_clocks_are_put_back_after_midnight() -> None:
    # In Newfoundland 00:01 became 23:01 of the day before.
    assert fires("59 23 * * *", "America/St_Johns", "2006-10-29T00:00:30-02:30", 2, overlap=BOTH) == [
        "2006-10-28T23:59:00-03:30",
        "2006-10-29T23:59:00-03:30",
    ]


def test_a_day_can_begin_before_the_last_has_ended() -> None:
    # In Singapore 00:00 became 00:20, so that 00:10 comes at 23:50.
    assert fires("10,55 0,23 * * *", "Asia/Singapore", "1932-12-31T23:20:00", 3, BEFORE) == [
        "1932-12-31T23:50:00+07:00",
        "1932-12-31T23:55:00+07:00",
        "1933-01-01T00:55:00+07:20",
    ]


@pytest.mark.parametrize("gap", DstGap)
@pytest.mark.parametrize("overlap", DstOverlap)
def test_an_interval_does_not_care_for_policies(gap: DstGap, overlap: DstOverlap) -> None:
    assert fires("0 */2 * * *", "Europe/Berlin", "2026-03-29T00:00:00", 2, gap, overlap) == [
        "2026-03-29T04:00:00+02:00",
        "2026-03-29T06:00:00+02:00",
    ]
    assert fires("0 */2 * * *", "Europe/Berlin", "2026-10-25T00:00:00", 3, gap, overlap) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T04:00:00+01:00",
    ]


# Bounds.


def test_the_rarest_date_is_found_also_over_a_leap_year_that_is_left_out() -> None:
    assert fires("0 0 * 2 SUN#5", "UTC", "2088-02-29T00:00:00", 1) == ["2128-02-29T00:00:00+00:00"]


def test_a_year_bounds_the_search_and_is_reached_however_far_it_lies() -> None:
    assert fires("0 0 0 1 1 ? 2150", "UTC", "2026-01-01T00:00:00", 2) == ["2150-01-01T00:00:00+00:00", "never"]
    with pytest.raises(InvalidSchedule, match="never fires"):
        check_cron("0 0 0 1 1 ? 2025", "UTC", now_ms=NOW_MS)


def test_what_a_job_has_already_may_have_had_its_last_year() -> None:
    asked = "0 0 H 1 1 ? 2025"
    current = check_cron(asked, "UTC", now_ms=NOW_MS - 400 * 86_400_000, seed=b"a")
    assert check_cron(asked, "UTC", now_ms=NOW_MS, seed=b"a", current=current) == current
    with pytest.raises(InvalidSchedule, match="never fires"):
        check_cron(asked, "UTC", now_ms=NOW_MS, seed=b"a", dst_gap=SKIP, current=current)


@pytest.mark.parametrize("at_s", [-(10**12), -62_135_596_800, 253_402_300_799, 10**15])
def test_instants_beyond_the_calendar_have_no_next(at_s: int) -> None:
    assert next_s("* * * * *", "Pacific/Apia", at_s) is None


@pytest.mark.parametrize("at_s", [-61_999_999_999, 252_999_999_999])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Apia", "Asia/Manila"])
def test_the_ends_of_the_calendar_are_searched(zone: str, at_s: int) -> None:
    assert next_s("* * * * * *", zone, at_s) == at_s + 1
    assert next_s("0 0 0 30 2 *", zone, at_s) is None


@pytest.mark.parametrize(
    ("expression", "months_most", "days_most"),
    [
        ("* * * * * *", 2, 3),
        ("0 9 * * 1-5", 2, 4),
        ("0 0 29 2 *", 3, 2),
        ("0 0 0 29 2 1#5 2000-2199", 19, 2),
        ("0 0 30 2 *", limits.SEARCH_YEARS + 1, 0),
        ("0 0 L-30 2,4,6,9,11 *", 5 * (limits.SEARCH_YEARS + 1), 0),
    ],
)
def test_a_search_looks_at_few_months_and_days(
    monkeypatch: pytest.MonkeyPatch, expression: str, months_most: int, days_most: int
) -> None:
    months_seen, days_seen = [], []

    def seen_month(days: Days, year: int, month: int) -> int:
        months_seen.append((year, month))
        return days_of_month(days, year, month)

    def seen_day(zone: str, day: int, gap: DstGap, overlap: DstOverlap) -> tuple[Stretch, ...]:
        days_seen.append(day)
        return stretches(zone, day, gap, overlap)

    monkeypatch.setattr(cron, "days_of_month", seen_month)
    monkeypatch.setattr(cron, "stretches", seen_day)
    # Past the cache, which may know the answer.
    cron.next_second_after.__wrapped__(expression, "Europe/Berlin", AFTER, FIRST, NOW_S + 1)
    assert len(months_seen) <= months_most
    assert len(days_seen) <= days_most
