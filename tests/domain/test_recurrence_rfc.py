"""The examples of RFC 5545, section 3.8.5.3, all of them in New York."""

import pytest

from dueline.domain.recurrence.times import RuleTimes
from tests.domain.rule_times import after, compact, rule_of, shown, wall_times

ZONE = "America/New_York"
WORKDAYS = "MO,TU,WE,TH,FR"


@pytest.mark.parametrize(
    ("start", "rule", "ends", "dates"),
    [
        ("19970902", "FREQ=DAILY;COUNT=10", True, "1997-9: 2..11"),
        ("19970902", "FREQ=DAILY;UNTIL=19971224T000000Z", True, "1997-9: 2..30; 1997-10: 1..31; 1997-11: 1..30; 1997-12: 1..23"),
        ("19970902", "FREQ=DAILY;INTERVAL=2", False,
         "1997-9: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30; 1997-10: 2 4 6 8 10 12 14 16 18 20 22 24 26 28 30; 1997-11: 1 3 5"),
        ("19970902", "FREQ=DAILY;INTERVAL=10;COUNT=5", True, "1997-9: 2 12 22; 1997-10: 2 12"),
        ("19980101", "FREQ=YEARLY;UNTIL=20000131T140000Z;BYMONTH=1;BYDAY=SU,MO,TU,WE,TH,FR,SA", True,
         "1998-1: 1..31; 1999-1: 1..31; 2000-1: 1..31"),
        ("19980101", "FREQ=DAILY;UNTIL=20000131T140000Z;BYMONTH=1", True, "1998-1: 1..31; 1999-1: 1..31; 2000-1: 1..31"),
        ("19970902", "FREQ=WEEKLY;COUNT=10", True, "1997-9: 2 9 16 23 30; 1997-10: 7 14 21 28; 1997-11: 4"),
        ("19970902", "FREQ=WEEKLY;UNTIL=19971224T000000Z", True,
         "1997-9: 2 9 16 23 30; 1997-10: 7 14 21 28; 1997-11: 4 11 18 25; 1997-12: 2 9 16 23"),
        ("19970902", "FREQ=WEEKLY;INTERVAL=2;WKST=SU", False,
         "1997-9: 2 16 30; 1997-10: 14 28; 1997-11: 11 25; 1997-12: 9 23; 1998-1: 6 20; 1998-2: 3 17"),
        ("19970902", "FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", True, "1997-9: 2 4 9 11 16 18 23 25 30; 1997-10: 2"),
        ("19970902", "FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", True, "1997-9: 2 4 9 11 16 18 23 25 30; 1997-10: 2"),
        ("19970901", "FREQ=WEEKLY;INTERVAL=2;UNTIL=19971224T000000Z;WKST=SU;BYDAY=MO,WE,FR", True,
         "1997-9: 1 3 5 15 17 19 29; 1997-10: 1 3 13 15 17 27 29 31; 1997-11: 10 12 14 24 26 28; 1997-12: 8 10 12 22"),
        ("19970902", "FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", True, "1997-9: 2 4 16 18 30; 1997-10: 2 14 16"),
        ("19970905", "FREQ=MONTHLY;COUNT=10;BYDAY=1FR", True,
         "1997-9: 5; 1997-10: 3; 1997-11: 7; 1997-12: 5; 1998-1: 2; 1998-2: 6; 1998-3: 6; 1998-4: 3; 1998-5: 1; 1998-6: 5"),
        ("19970905", "FREQ=MONTHLY;UNTIL=19971224T000000Z;BYDAY=1FR", True, "1997-9: 5; 1997-10: 3; 1997-11: 7; 1997-12: 5"),
        ("19970907", "FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", True,
         "1997-9: 7 28; 1997-11: 2 30; 1998-1: 4 25; 1998-3: 1 29; 1998-5: 3 31"),
        ("19970922", "FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", True,
         "1997-9: 22; 1997-10: 20; 1997-11: 17; 1997-12: 22; 1998-1: 19; 1998-2: 16"),
        ("19970928", "FREQ=MONTHLY;BYMONTHDAY=-3", False,
         "1997-9: 28; 1997-10: 29; 1997-11: 28; 1997-12: 29; 1998-1: 29; 1998-2: 26"),
        ("19970902", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", True,
         "1997-9: 2 15; 1997-10: 2 15; 1997-11: 2 15; 1997-12: 2 15; 1998-1: 2 15"),
        ("19970930", "FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", True,
         "1997-9: 30; 1997-10: 1 31; 1997-11: 1 30; 1997-12: 1 31; 1998-1: 1 31; 1998-2: 1"),
        ("19970910", "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15", True, "1997-9: 10..15; 1999-3: 10..13"),
        ("19970902", "FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", False,
         "1997-9: 2 9 16 23 30; 1997-11: 4 11 18 25; 1998-1: 6 13 20 27; 1998-3: 3 10 17 24 31"),
        ("19970610", "FREQ=YEARLY;COUNT=10;BYMONTH=6,7", True,
         "1997-6: 10; 1997-7: 10; 1998-6: 10; 1998-7: 10; 1999-6: 10; 1999-7: 10; 2000-6: 10; 2000-7: 10; 2001-6: 10; 2001-7: 10"),
        ("19970310", "FREQ=YEARLY;INTERVAL=2;COUNT=10;BYMONTH=1,2,3", True,
         "1997-3: 10; 1999-1: 10; 1999-2: 10; 1999-3: 10; 2001-1: 10; 2001-2: 10; 2001-3: 10; 2003-1: 10; 2003-2: 10; 2003-3: 10"),
        ("19970101", "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", True,
         "1997-1: 1; 1997-4: 10; 1997-7: 19; 2000-1: 1; 2000-4: 9; 2000-7: 18; 2003-1: 1; 2003-4: 10; 2003-7: 19; 2006-1: 1"),
        ("19970519", "FREQ=YEARLY;BYDAY=20MO", False, "1997-5: 19; 1998-5: 18; 1999-5: 17"),
        ("19970512", "FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", False, "1997-5: 12; 1998-5: 11; 1999-5: 17"),
        ("19970313", "FREQ=YEARLY;BYMONTH=3;BYDAY=TH", False, "1997-3: 13 20 27; 1998-3: 5 12 19 26; 1999-3: 4 11 18 25"),
        ("19970605", "FREQ=YEARLY;BYDAY=TH;BYMONTH=6,7,8", False,
         "1997-6: 5 12 19 26; 1997-7: 3 10 17 24 31; 1997-8: 7 14 21 28; 1998-6: 4 11 18 25; 1998-7: 2 9 16 23 30; "
         "1998-8: 6 13 20 27; 1999-6: 3 10 17 24; 1999-7: 1 8 15 22 29; 1999-8: 5 12 19 26"),
        ("19970902", "FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", False, "1998-2: 13; 1998-3: 13; 1998-11: 13; 1999-8: 13; 2000-10: 13"),
        ("19970913", "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", False,
         "1997-9: 13; 1997-10: 11; 1997-11: 8; 1997-12: 13; 1998-1: 10; 1998-2: 7; 1998-3: 7; 1998-4: 11; 1998-5: 9; 1998-6: 13"),
        ("19961105", "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", False,
         "1996-11: 5; 2000-11: 7; 2004-11: 2"),
        ("19970904", "FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", True, "1997-9: 4; 1997-10: 7; 1997-11: 6"),
        ("19970929", f"FREQ=MONTHLY;BYDAY={WORKDAYS};BYSETPOS=-2", False,
         "1997-9: 29; 1997-10: 30; 1997-11: 27; 1997-12: 30; 1998-1: 29; 1998-2: 26; 1998-3: 30"),
        ("19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", True, "1997-8: 5 10 19 24"),
        ("19970805", "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", True, "1997-8: 5 17 19 31"),
        ("20070115", "FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", True, "2007-1: 15 30; 2007-2: 15; 2007-3: 15 30"),
    ],
)  # fmt: skip
def test_a_rule_names_days(start: str, rule: str, ends: bool, dates: str) -> None:
    schedule = rule_of(f"DTSTART;TZID={ZONE}:{start}T090000\nRRULE:{rule}")
    expected = [day.replace(tzinfo=None).isoformat() for day in compact(dates)]
    found = [shown(at_ms, ZONE)[:19] for at_ms in after(RuleTimes(schedule), 0, len(expected) + ends)]
    assert found == expected


@pytest.mark.parametrize(
    ("rule", "times"),
    [
        # As corrected by the errata: the text says 17:00 UTC and means 17:00 in New York.
        ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "9:00 12:00 15:00"),
        ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", "9:00 9:15 9:30 9:45 10:00 10:15"),
        ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "9:00 10:30 12:00 13:30"),
    ],
)
def test_a_rule_names_times_of_one_day(rule: str, times: str) -> None:
    found = wall_times(rule_of(f"DTSTART;TZID={ZONE}:19970902T090000\nRRULE:{rule}"), "1997-09-01T00:00", 10)
    assert found == [f"1997-09-02T{time.zfill(5)}:00-04:00" for time in times.split()]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40",
        "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16",
    ],
)
def test_every_twenty_minutes_of_a_working_day_can_be_said_in_two_ways(rule: str) -> None:
    found = wall_times(rule_of(f"DTSTART;TZID={ZONE}:19970902T090000\nRRULE:{rule}"), "1997-09-01T00:00", 48)
    assert found == [
        f"1997-09-0{day}T{hour:02}:{minute:02}:00-04:00"
        for day in (2, 3)
        for hour in range(9, 17)
        for minute in (0, 20, 40)
    ]


def test_a_friday_the_thirteenth_leaves_out_its_start_which_is_none() -> None:
    lines = f"DTSTART;TZID={ZONE}:19970902T090000\nEXDATE;TZID={ZONE}:19970902T090000\nRRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13"
    assert [time[:10] for time in wall_times(rule_of(lines), "1997-09-01T00:00", 2)] == ["1998-02-13", "1998-03-13"]
