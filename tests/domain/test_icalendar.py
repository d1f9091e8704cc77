"""Days from iCalendar files, in the shapes that calendar programs give them."""

from datetime import date

import pytest

from dueline.domain import limits
from dueline.domain.calendars import calendar_dates
from dueline.domain.errors import Invalid
from dueline.domain.icalendar import parse_icalendar

NOW_DAY = date(2026, 6, 1).toordinal()

GOOGLE = """BEGIN:VCALENDAR
PRODID:-//Google Inc//Google Calendar 70.9054//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:PUBLISH
X-WR-CALNAME:Holidays in Germany
X-WR-TIMEZONE:UTC
X-WR-CALDESC:Holidays and Observances in Germany
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261225
DTEND;VALUE=DATE:20261226
DTSTAMP:20260601T101500Z
UID:20261225_abcdefghijklmnop@google.com
CLASS:PUBLIC
CREATED:20240821T103000Z
DESCRIPTION:Public holiday in Brandenburg\\, Berlin\\, and others; see "the
  list": https://example.com/?a=b;c=d
LAST-MODIFIED:20240821T103000Z
SEQUENCE:0
STATUS:CONFIRMED
SUMMARY:Christmas Day
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261226
DTEND;VALUE=DATE:20261227
DTSTAMP:20260601T101500Z
UID:20261226_abcdefghijklmnop@google.com
SUMMARY:Second Day of Christmas
TRANSP:TRANSPARENT
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20270101
DTEND;VALUE=DATE:20270102
UID:20270101_abcdefghijklmnop@google.com
STATUS:CANCELLED
SUMMARY:New Year's Day
END:VEVENT
END:VCALENDAR
"""

APPLE = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Apple Inc.//iCloud Calendar 2206B//EN
X-APPLE-REGION:US
X-WR-CALNAME:US Holidays
BEGIN:VEVENT
UID:2b2d1a3c-0000-3a4f-9c5e-000000000001
DTSTAMP:20230101T000000Z
SUMMARY;LANGUAGE=en:Independence Day
DTSTART;VALUE=DATE:20230704
RRULE:FREQ=YEARLY;COUNT=5
X-APPLE-UNIVERSAL-ID:aaaa
END:VEVENT
BEGIN:VEVENT
UID:2b2d1a3c-0000-3a4f-9c5e-000000000002
SUMMARY;LANGUAGE=en:Thanksgiving
DTSTART;VALUE=DATE:20231123
DURATION:P2D
RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;UNTIL=20261231
EXDATE;VALUE=DATE:20241128
BEGIN:VALARM
TRIGGER:-PT15M
ACTION:DISPLAY
DESCRIPTION:Reminder
DTSTART;VALUE=DATE:19990101
END:VALARM
END:VEVENT
END:VCALENDAR
"""

OUTLOOK = """BEGIN:VCALENDAR
PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN
VERSION:2.0
METHOD:PUBLISH
X-MS-OLK-FORCEINSPECTOROPEN:TRUE
BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16011028T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010325T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
CATEGORIES:Holiday
DTEND;TZID="W. Europe Standard Time":20260805T000000
DTSTART;TZID="W. Europe Standard Time":20260803T220000
SUMMARY;LANGUAGE=de:Betriebsausflug
UID:040000008200E00074C5B7101A82E008
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID="W. Europe Standard Time":20260907T090000
DTEND;TZID="W. Europe Standard Time":20260907T170000
RRULE:FREQ=WEEKLY;COUNT=3;BYDAY=MO
EXDATE;TZID="W. Europe Standard Time":20260914T090000
UID:040000008200E00074C5B7101A82E009
END:VEVENT
END:VCALENDAR
"""


def days(text: str) -> list[str]:
    return calendar_dates(parse_icalendar(text, now_day=NOW_DAY))


def file_of(*lines: str, head: tuple[str, ...] = ()) -> str:
    return "\r\n".join(
        ["BEGIN:VCALENDAR", "VERSION:2.0", *head, "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR", ""]
    )


@pytest.mark.parametrize(
    ("feed", "expected"),
    [
        (GOOGLE, ["2026-12-25/2026-12-26"]),
        (APPLE, ["2023-07-04", "2023-11-23/2023-11-24", "2024-07-04", "2025-07-04", "2025-11-27/2025-11-28", "2026-07-04",
                 "2026-11-26/2026-11-27", "2027-07-04"]),
        (OUTLOOK, ["2026-08-03/2026-08-04", "2026-09-07", "2026-09-21"]),
    ],
    ids=["Google", "Apple", "Outlook"],
)  # fmt: skip
def test_the_feeds_of_calendar_programs_are_read(feed: str, expected: list[str]) -> None:
    assert days(feed) == expected
    assert days(feed.replace("\n", "\r\n")) == expected
    assert days("\ufeff" + feed) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["DTSTART;VALUE=DATE:20260101"], ["2026-01-01"]),
        (["DTSTART:20260101"], ["2026-01-01"]),
        (["DTSTART;VALUE=DATE:20260101", "DTEND;VALUE=DATE:20260101"], ["2026-01-01"]),
        (["DTSTART;VALUE=DATE:20260101", "DTEND;VALUE=DATE:20260104"], ["2026-01-01/2026-01-03"]),
        (["DTSTART;VALUE=DATE:20260101", "DURATION:P1W"], ["2026-01-01/2026-01-07"]),
        (["DTSTART:20260101T090000"], ["2026-01-01"]),
        (["DTSTART:20260101T230000", "DURATION:+PT1H"], ["2026-01-01"]),
        (["DTSTART:20260101T230000", "DURATION:PT1H1S"], ["2026-01-01/2026-01-02"]),
        (["DTSTART;TZID=Asia/Tokyo:20260101T010000", "DTEND;TZID=Asia/Tokyo:20260101T020000"], ["2026-01-01"]),
        (["DTSTART;TZID=Europe/Berlin:20260329T023000", "DTEND;TZID=Europe/Berlin:20260329T030000"], ["2026-03-29"]),
        (["DTSTART:20260101T230000Z", "DTEND:20260102T010000Z"], ["2026-01-01/2026-01-02"]),
        (["DTSTART;VALUE=DATE:20260101", "RDATE;VALUE=DATE:20260301,20260401"], ["2026-01-01", "2026-03-01", "2026-04-01"]),
        (["DTSTART;TZID=Asia/Tokyo:20260101T090000", "RRULE:FREQ=DAILY;UNTIL=20260103T000000Z"], ["2026-01-01/2026-01-03"]),
        (["DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY"], ["2026-01-01/2046-06-16"]),
        (["DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=YEARLY;UNTIL=20280101"], ["2026-01-01", "2027-01-01", "2028-01-01"]),
    ],
)  # fmt: skip
def test_an_event_covers_every_day_that_it_touches(lines: list[str], expected: list[str]) -> None:
    assert days(file_of(*lines)) == expected


def test_times_in_utc_are_read_in_the_zone_of_the_calendar() -> None:
    lines = ("DTSTART:20260101T230000Z", "DTEND:20260102T010000Z")
    assert days(file_of(*lines, head=("X-WR-TIMEZONE:Europe/Berlin",))) == ["2026-01-02"]
    assert days(file_of(*lines, head=("X-WR-TIMEZONE:Nowhere/Known",))) == ["2026-01-01/2026-01-02"]


def test_an_occurrence_that_has_an_event_of_its_own_is_where_that_is() -> None:
    text = "\n".join(
        ["BEGIN:VCALENDAR",
         "BEGIN:VEVENT", "UID:a", "DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=MONTHLY;COUNT=3", "END:VEVENT",
         "BEGIN:VEVENT", "UID:a", "RECURRENCE-ID;VALUE=DATE:20260201", "DTSTART;VALUE=DATE:20260205", "END:VEVENT",
         "BEGIN:VEVENT", "UID:a", "RECURRENCE-ID;VALUE=DATE:20260301", "DTSTART;VALUE=DATE:20260301", "STATUS:CANCELLED", "END:VEVENT",
         "END:VCALENDAR"]
    )  # fmt: skip
    assert days(text) == ["2026-01-01", "2026-02-05"]


def test_a_recurring_event_of_long_ago_is_written_out_from_its_start_to_some_years_ahead() -> None:
    found = days(file_of("DTSTART;VALUE=DATE:19700101", "RRULE:FREQ=YEARLY"))
    assert found[0] == "1970-01-01"
    assert found[-1] == f"{2026 + limits.CALENDAR_YEARS_AHEAD}-01-01"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<html>", "line 1: '<html>' is no line such as DTSTART:20261225"),
        ("DTSTART:20260101", "line 1: an iCalendar file begins with BEGIN:VCALENDAR"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260101", "line 3: the file ends before END:VEVENT"),
        ("BEGIN:VCALENDAR\nEND:VEVENT", "line 2: END:VEVENT ends what did not begin"),
        ("BEGIN:VCALENDAR\nEND:VCALENDAR\nEND:VCALENDAR", "line 3: an iCalendar file begins with"),
        (file_of("UID:1"), "line 3: this event has no DTSTART"),
        (file_of("DTSTART:tomorrow"), "line 4: DTSTART 'tomorrow' is no date or time since 1970"),
        (file_of("DTSTART:20260230"), "line 4: DTSTART '20260230' is no date"),
        (file_of("DTSTART:20260101", "EXDATE:x"), "line 5: EXDATE 'x' is no date"),
        (file_of("DTSTART:20260102", "DTEND:20260101"), "line 5: the event ends before it begins"),
        (file_of("DTSTART:20260102", "DURATION:P1M"), "line 5: DURATION 'P1M' is not a duration"),
        (file_of("DTSTART:20260102", "RRULE:FREQ=SOMETIMES"), "line 5: RRULE FREQ: 'SOMETIMES' is no frequency"),
        (file_of("DTSTART:20260102", "no line"), "line 5: 'no line' is no line"),
        (file_of("DTSTART:20260102T000000", "RRULE:FREQ=HOURLY"), "line 3: from here on there are more than 20000"),
        (file_of("DTSTART:19700102", "RRULE:FREQ=DAILY;INTERVAL=3"), "has more than 5000 days"),
        ("x" * (limits.CALENDAR_LETTERS_MAX + 1), "is longer than"),
    ],
)  # fmt: skip
def test_a_broken_file_is_refused_with_the_line(text: str, reason: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_icalendar(text, now_day=NOW_DAY, field="ics")
    assert refused.value.problems[0][0] == "ics"
    assert reason in refused.value.problems[0][1]


def test_long_broken_lines_are_refused_at_once() -> None:
    with pytest.raises(Invalid, match="line 1"):
        parse_icalendar("A" + ";B=c,d,e,f" * 50_000, now_day=NOW_DAY)
