"""Cron expressions: what is understood, what is refused, and when they fire on nights when clocks change."""

from bisect import bisect_right
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dueline.domain.cron import MACROS, check_cron, check_zone, next_second_after
from dueline.domain.errors import InvalidSchedule
from tests.domain.cron_oracle import AFTER_S, BEFORE_S, NIGHTS, Expression, expressions, fires_around, night_s

NOW_MS = 1_767_225_600_000
NOW_S = NOW_MS // 1000


def seconds(text: str, zone: str = "UTC") -> int:
    """An instant, from its text with an offset or on the wall clock of a zone."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).timestamp())


def fires(expression: str, zone: str, since: str, count: int) -> list[str]:
    """The next occurrences after a moment on the wall clock, as the wall clock shows them with its offset."""
    at_s, shown = seconds(since, zone), []
    for _ in range(count):
        at_ms = next_second_after(expression, zone, at_s)
        assert at_ms is not None
        at_s = at_ms // 1000
        shown.append(datetime.fromtimestamp(at_s, ZoneInfo(zone)).isoformat())
    return shown


@pytest.mark.parametrize(("macro", "expression"), MACROS.items())
def test_a_macro_stands_for_its_expression(macro: str, expression: str) -> None:
    assert check_cron(macro, "UTC", now_ms=NOW_MS) == expression
    assert check_cron(f" {macro.upper()} ", "UTC", now_ms=NOW_MS) == expression


def test_space_between_the_fields_does_not_matter() -> None:
    assert check_cron("  0\t9  * *\n1-5 ", "UTC", now_ms=NOW_MS) == "0 9 * * 1-5"


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
    assert check_cron(expression, "UTC", now_ms=NOW_MS) == expression
    assert fires(expression, "UTC", "2026-01-01T00:00:00+00:00", 1) == [first]


@pytest.mark.parametrize(
    "expression",
    [
        "",
        " ",
        "*",
        "* * * *",
        "* * * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "60 * * * * *",
        "*/0 * * * *",
        "5-1 * * * *",
        "1-2-3 * * * *",
        "-1 * * * *",
        "1.5 * * * *",
        "a * * * *",
        "* * * * MON#6",
        "* * * FOO *",
        "\N{ARABIC-INDIC DIGIT THREE} * * * *",
        "* * * * *\x00",
        "@never",
        "@reboot",
        "@",
        "every minute",
        "; rm -rf /",
    ],
)
def test_what_is_no_expression_is_refused_by_the_name_of_its_field(expression: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        check_cron(expression, "UTC", now_ms=NOW_MS)
    assert refused.value.problems[0][0] == "schedule.cron"


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 0 31 2 *"])
def test_an_expression_that_never_fires_is_refused_and_told_so(expression: str) -> None:
    with pytest.raises(InvalidSchedule, match="never fires"):
        check_cron(expression, "UTC", now_ms=NOW_MS)


@settings(max_examples=300)
@given(st.text(alphabet="0123456789*/,-#LW@MONJAN ", max_size=30))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        canonical = check_cron(text, "UTC", now_ms=NOW_MS)
    except InvalidSchedule:
        return
    found_ms = next_second_after(canonical, "UTC", NOW_S)
    assert found_ms is not None
    assert found_ms > NOW_MS


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "America/Argentina/ComodRivadavia", "Etc/GMT+5", "Asia/Kathmandu"]
)
def test_a_known_zone_is_taken(zone: str) -> None:
    assert check_zone(zone).key == zone


@pytest.mark.parametrize(
    "zone",
    ["", " ", "Europe", "Europe/", "Europe/Atlantis", "Berlin", "../UTC", "/etc/localtime", "Europe/../UTC", "+02:00", "UTC\x00",
     "UTC\n", "\ud800", "zone.tab", "tzdata.zi", "localtime", "posixrules", "right/Europe/Berlin", "posix/UTC", "x" * 65, "x" * 5_000],
)  # fmt: skip
def test_an_unknown_zone_is_refused_by_the_name_of_its_field(zone: str) -> None:
    with pytest.raises(InvalidSchedule, match="unknown time zone") as refused:
        check_cron("0 0 * * *", zone, now_ms=NOW_MS)
    assert refused.value.problems[0][0] == "schedule.timezone"


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
    assert fires("*/30 2 25 10 *", "Europe/Berlin", "2026-10-25T02:45:00+02:00", 3) == [
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T02:30:00+01:00",
        "2027-10-25T02:00:00+02:00",
    ]


nights = st.sampled_from(NIGHTS)
shifts = st.integers(-BEFORE_S + 86_400, 86_400) | st.integers(-7_200, 7_200)


@settings(max_examples=400)
@given(expressions(), nights, shifts)
def test_expressions_fire_as_a_walk_over_every_minute_says(
    expression: Expression, night: tuple[str, str], shift_s: int
) -> None:
    zone, moment = night
    at_s = night_s(moment) + shift_s
    expected = fires_around(expression, zone, moment)
    index = bisect_right(expected, at_s)
    found_ms = next_second_after(expression.text, zone, at_s)
    if index < len(expected):
        assert found_ms == expected[index] * 1000
    else:
        assert found_ms is None or found_ms >= (night_s(moment) + AFTER_S) * 1000


@settings(max_examples=300)
@given(
    expressions(),
    st.sampled_from(["", "0 ", "30 ", "*/7 ", "5,10 "]),
    nights,
    shifts,
    st.floats(0, 1, exclude_max=True),
)
def test_the_next_lies_ahead_and_is_the_same_wherever_it_is_asked_from(
    expression: Expression, second: str, night: tuple[str, str], shift_s: int, part: float
) -> None:
    text, zone, at_s = second + expression.text, night[0], night_s(night[1]) + shift_s
    found_ms = next_second_after(text, zone, at_s)
    if found_ms is None:
        return
    found_s = found_ms // 1000
    assert found_ms % 1000 == 0
    assert found_s > at_s
    between_s = at_s + int((found_s - at_s) * part)
    assert next_second_after(text, zone, between_s) == found_ms
    assert next_second_after(text, zone, found_s - 1) == found_ms


@settings(max_examples=60)
@given(st.integers(0, 86_399), nights)
@example(9_000, ("Europe/Berlin", "2026-03-29T01:00"))
@example(9_015, ("Europe/Berlin", "2026-10-25T01:00"))
def test_a_time_of_day_fires_once_on_every_night_also_with_its_second(
    second_of_day: int, night: tuple[str, str]
) -> None:
    zone, moment = night
    minute, second = divmod(second_of_day, 60)
    hour, minute = divmod(minute, 60)
    at_s, found = night_s(moment) - 86_400, []
    while at_s < night_s(moment) + 2 * 86_400:
        at_ms = next_second_after(f"{second} {minute} {hour} * * *", zone, at_s)
        assert at_ms is not None
        at_s = at_ms // 1000
        found.append(datetime.fromtimestamp(at_s, ZoneInfo(zone)))
    dates = [moment.date() for moment in found]
    assert len(set(dates)) == len(dates)
    assert (dates[-1] - dates[0]).days == len(dates) - 1
