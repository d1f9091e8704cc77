"""Recurrence rules as texts: every way of writing them, their canonical form, and what is refused."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.recurrence.text import format_rule, parse_rule
from dueline.domain.recurrence.times import RuleTimes
from tests.domain.recurrence_oracle import calendar_rules, fine_rules
from tests.domain.rule_times import millis, rule_of

NEW_YORK = "America/New_York"
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("FREQ=DAILY", "FREQ=DAILY"),
        ("RRULE:FREQ=DAILY", "FREQ=DAILY"),
        (" rrule:freq=daily;interval=1;wkst=mo \n", "FREQ=DAILY"),
        ("INTERVAL=2;FREQ=WEEKLY;BYDAY=fr,mo,FR", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR"),
        ("FREQ=MONTHLY;BYDAY=+2TU,-1FR,MO", "FREQ=MONTHLY;BYDAY=-1FR,MO,2TU"),
        ("FREQ=YEARLY;WKST=SU;BYSETPOS=-1;BYMONTHDAY=15,-1;BYMONTH=6", "FREQ=YEARLY;BYMONTH=6;BYMONTHDAY=-1,15;BYSETPOS=-1;WKST=SU"),
        ("FREQ=DAILY;BYSECOND=30,0;BYMINUTE=05;BYHOUR=09", "FREQ=DAILY;BYHOUR=9;BYMINUTE=5;BYSECOND=0,30"),
        ("FREQ=DAILY;COUNT=010", "FREQ=DAILY;COUNT=10"),
        ("FREQ=DAILY;UNTIL=20261231", "FREQ=DAILY;UNTIL=20261231"),
        ("FREQ=DAILY;UNTIL=20261231t235959z", "FREQ=DAILY;UNTIL=20261231T235959Z"),
        ("FREQ=DAILY;UNTIL=20260701T090000", "FREQ=DAILY;UNTIL=20260701T070000Z"),
        ("FREQ=YEARLY;BYYEARDAY=-1,1;BYWEEKNO=-1,1;BYDAY=MO", "FREQ=YEARLY;BYWEEKNO=-1,1;BYYEARDAY=-1,1;BYDAY=MO"),
    ],
)  # fmt: skip
def test_a_rule_has_a_canonical_form(text: str, canonical: str) -> None:
    assert rule_of(text, BERLIN).rule == canonical
    assert rule_of(canonical, BERLIN).rule == canonical


def test_lines_may_end_and_be_folded_as_calendars_do() -> None:
    expected = rule_of("DTSTART;TZID=America/New_York:19970902T090000\nRRULE:FREQ=DAILY;COUNT=10")
    assert expected.anchor_ms == millis("1997-09-02T09:00", NEW_YORK)
    assert expected.timezone == NEW_YORK
    for text in (
        "DTSTART;TZID=America/New_York:19970902T090000\r\nRRULE:FREQ=DAILY;COUNT=10\r\n",
        "RRULE:FREQ=DAILY;COUNT=10\nDTSTART;TZID=America/New_York:19970902T090000",
        'DTSTART;TZID="America/New_York":19970902T090000\nRRULE:FREQ=DAILY;COUNT=10',
        "DTSTART;TZID=America/New_York:1997\r\n 0902T090000\r\nRRULE:FREQ=DAI\r\n\tLY;COUNT=10\r\n",
        "dtstart;tzid=America/New_York:19970902T090000\n\nFREQ=DAILY;COUNT=10",
    ):
        assert rule_of(text) == expected


@pytest.mark.parametrize(
    ("start", "zone", "expected"),
    [
        ("DTSTART:20260701T090000Z", None, "2026-07-01T09:00:00+00:00"),
        ("DTSTART:20260701T090000Z", BERLIN, "2026-07-01T09:00:00+00:00"),
        ("DTSTART:20260701T090000", BERLIN, "2026-07-01T07:00:00+00:00"),
        ("DTSTART;TZID=Europe/Berlin:20260701T090000", None, "2026-07-01T07:00:00+00:00"),
        ("DTSTART;TZID=Europe/Berlin:20260701T090000", BERLIN, "2026-07-01T07:00:00+00:00"),
        ("DTSTART;VALUE=DATE:20260701", BERLIN, "2026-06-30T22:00:00+00:00"),
        ("DTSTART:20261025T023000", BERLIN, "2026-10-25T00:30:00+00:00"),
    ],
)
def test_a_start_in_the_text_wins(start: str, zone: str | None, expected: str) -> None:
    rule = rule_of(f"{start}\nRRULE:FREQ=DAILY", zone, "2020-01-01T00:00:00+00:00")
    assert rule.anchor_ms == millis(expected)
    assert rule.timezone == (BERLIN if zone or "TZID" in start else "UTC")


def test_without_a_start_the_given_one_is_brought_down_to_its_second() -> None:
    rule = parse_rule("FREQ=DAILY", field="schedule.rrule", timezone=None, anchor_ms=1_767_225_600_999)
    assert rule.anchor_ms == 1_767_225_600_000


def test_excluded_dates_are_instants_or_whole_days() -> None:
    rule = rule_of(
        "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Berlin:20260103T090000,20260102T090000\n"
        "EXDATE:20260704T070000Z\nEXDATE:20260105T090000\nEXDATE;TZID=America/New_York:20260106T030000\nEXDATE;VALUE=DATE:20260201"
    )
    texts = ["2026-01-02T08:00", "2026-01-03T08:00", "2026-01-05T08:00", "2026-01-06T08:00", "2026-07-04T07:00"]
    assert rule.excluded_ms == tuple(millis(f"{text}:00+00:00") for text in texts)
    assert rule.excluded_days == (date(2026, 2, 1).toordinal(),)


def test_an_excluded_time_that_the_clocks_jump_over_is_what_comes_in_its_place() -> None:
    rule = rule_of("DTSTART;TZID=Europe/Berlin:20260328T023000\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260329T023000")
    times = RuleTimes(rule)
    assert times.next_after(0) == rule.anchor_ms
    assert times.next_after(rule.anchor_ms) is None


def test_the_whole_text_is_echoed() -> None:
    text = (
        "DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY;COUNT=9\nEXDATE:20260102T080000Z,20260103T080000Z\n"
        "EXDATE;VALUE=DATE:20260201"
    )
    assert format_rule(rule_of(text)) == text
    assert format_rule(rule_of("FREQ=DAILY")) == "DTSTART:20260101T000000Z\nRRULE:FREQ=DAILY"


@given(
    text=st.one_of(calendar_rules(), fine_rules()),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)),
    zone=st.sampled_from([BERLIN, "Pacific/Apia", "UTC"]),
    overlap=st.sampled_from(DstOverlap),
)
def test_the_echo_reads_back_as_the_same_schedule(text: str, start: datetime, zone: str, overlap: DstOverlap) -> None:
    rule = rule_of(text, zone, f"{start.isoformat()}+00:00", DstGap.SKIP, overlap)
    assert rule_of(format_rule(rule), zone, gap=DstGap.SKIP, overlap=overlap) == rule


def test_the_second_showing_of_a_start_is_echoed_so_that_it_reads_back() -> None:
    rule = rule_of("FREQ=DAILY", BERLIN, "2026-10-25T02:30:00+01:00")
    assert format_rule(rule) == "DTSTART:20261025T013000Z\nRRULE:FREQ=DAILY"
    assert rule_of(format_rule(rule), BERLIN) == rule


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "RRULE is missing: add a rule such as FREQ=DAILY"),
        ("daily", "line 1: 'daily' is no rule such as RRULE:FREQ=DAILY"),
        ("RRULE:", "part 1, '', is no NAME=VALUE"),
        ("FREQ=DAILY;", "part 2, '', is no NAME=VALUE"),
        ("FREQ=DAILY;COUNT=", "part 2, 'COUNT=', is no NAME=VALUE"),
        ("FREQ=DA\u0131LY", "is no NAME=VALUE"),
        ("COUNT=3", "FREQ is missing"),
        ("FREQ=FORTNIGHTLY", "FREQ: 'FORTNIGHTLY' is no frequency; right would be YEARLY, MONTHLY"),
        ("FREQ=DAILY;BYEASTER=0", "part 2, 'BYEASTER', is not known: use one of FREQ, INTERVAL"),
        ("FREQ=DAILY;FREQ=DAILY", "FREQ is given twice"),
        ("FREQ=DAILY;INTERVAL=0", "INTERVAL: '0' is no number between 1 and"),
        ("FREQ=DAILY;INTERVAL=-1", "INTERVAL: '-1' is no number"),
        ("FREQ=DAILY;COUNT=0", "COUNT: '0' is no number between 1 and 100000"),
        ("FREQ=DAILY;COUNT=100001", "COUNT: '100001' is no number"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20261231", "COUNT and UNTIL exclude each other"),
        ("FREQ=DAILY;UNTIL=2026-12-31", "UNTIL: '2026-12-31' is no date or time"),
        ("FREQ=DAILY;UNTIL=20260230", "right would be 20261231 or 20261231T235959Z"),
        ("FREQ=DAILY;BYSECOND=60", "BYSECOND: '60' is no number between 0 and 59"),
        ("FREQ=DAILY;BYMINUTE=60", "BYMINUTE: '60'"),
        ("FREQ=DAILY;BYHOUR=24", "BYHOUR: '24' is no number between 0 and 23"),
        ("FREQ=DAILY;BYHOUR=-1", "BYHOUR: '-1'"),
        ("FREQ=DAILY;BYHOUR=1,,2", "BYHOUR: ''"),
        ("FREQ=DAILY;BYMONTH=13", "BYMONTH: '13' is no number between 1 and 12"),
        ("FREQ=DAILY;BYMONTHDAY=0", "BYMONTHDAY: '0' is no number between 1 and 31, or between -31 and -1"),
        ("FREQ=YEARLY;BYYEARDAY=367", "BYYEARDAY: '367'"),
        ("FREQ=YEARLY;BYWEEKNO=54", "BYWEEKNO: '54'"),
        ("FREQ=DAILY;BYDAY=XX", "BYDAY: 'XX' is no day of the week; right would be MO, 2TU or -1FR"),
        ("FREQ=MONTHLY;BYDAY=0MO", "BYDAY: '0MO'"),
        ("FREQ=YEARLY;BYDAY=54MO", "BYDAY: '54MO'"),
        ("FREQ=MONTHLY;BYDAY=6MO", "a month has no sixth of any day"),
        ("FREQ=YEARLY;BYMONTH=1;BYDAY=6MO", "a month has no sixth of any day"),
        ("FREQ=WEEKLY;BYDAY=1MO", "a number before a day goes with FREQ=MONTHLY or YEARLY only"),
        ("FREQ=YEARLY;BYWEEKNO=1;BYDAY=1MO", "a number before a day does not go with BYWEEKNO"),
        ("FREQ=MONTHLY;BYWEEKNO=1", "BYWEEKNO goes with FREQ=YEARLY only"),
        ("FREQ=DAILY;BYYEARDAY=1", "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY does not go with FREQ=WEEKLY"),
        ("FREQ=DAILY;BYSETPOS=1", "BYSETPOS picks from what another part names"),
        ("FREQ=DAILY;BYSETPOS=0;BYHOUR=1", "BYSETPOS: '0'"),
        ("FREQ=WEEKLY;WKST=1", "WKST: '1' is no day of the week"),
        ("RRULE:FREQ=DAILY\nRRULE:FREQ=WEEKLY", "RRULE is given more than once: make a job of its own for each rule"),
        ("RRULE:FREQ=DAILY\nRDATE:20260101T000000Z", "line 2: RDATE single dates cannot be added"),
        ("RRULE:FREQ=DAILY\nEXRULE:FREQ=WEEKLY", "line 2: EXRULE a rule cannot exclude"),
        ("RRULE:FREQ=DAILY\nSUMMARY:Tea", "line 2: SUMMARY is not known here: use DTSTART, RRULE and EXDATE"),
        ("RRULE:FREQ=DAILY\nEXDATE:tomorrow", "line 2: EXDATE 'tomorrow' is no time between the years 1970"),
        ("DTSTART:20260101\nDTSTART:20260101\nRRULE:FREQ=DAILY", "line 2: DTSTART is given twice"),
        ("DTSTART:19690101T000000Z\nRRULE:FREQ=DAILY", "line 1: DTSTART '19690101T000000Z' is no time"),
        ("DTSTART:20260329T023000\nRRULE:FREQ=DAILY", "the clocks of Europe/Berlin jump over"),
        ("DTSTART;TZID=Mars/Olympus:20260101T000000\nRRULE:FREQ=DAILY", "DTSTART TZID: unknown time zone 'Mars/Olympus'"),
        ("RRULE:FREQ=DAILY\nEXDATE;TZID=Mars/Olympus:20260101T000000", "EXDATE TZID: unknown time zone"),
        ("DTSTART;TZID=America/New_York:20260101T000000\nRRULE:FREQ=DAILY",
         "says TZID=America/New_York, but the schedule's time zone is Europe/Berlin"),
        ("FREQ=DAILY;" * 5_000, f"is longer than {limits.RULE_LETTERS_MAX} letters"),
        ("FREQ=DAILY\nEXDATE:" + ",".join(f"20260101T{n // 3600:02}{n // 60 % 60:02}{n % 60:02}Z" for n in range(1_001)),
         "more than 1000 dates; put them into a calendar"),
    ],
)  # fmt: skip
def test_what_is_no_rule_is_refused_with_the_part_and_what_would_be_right(text: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        rule_of(text, BERLIN)
    assert refused.value.problems[0][0] == "schedule.rrule"
    assert reason in refused.value.problems[0][1]


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="unknown time zone"):
        parse_rule("FREQ=DAILY", field="schedule.rrule", timezone="Europe/Atlantis", anchor_ms=0)


@given(st.text(alphabet=st.sampled_from("FREQ=DAILY;:BYMONTHUCW,-+0123456789\nZ Tdtsar\x00ß²"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        rule = rule_of(text, BERLIN)
    except InvalidSchedule:
        return
    assert rule_of(rule.rule, BERLIN).rule == rule.rule
