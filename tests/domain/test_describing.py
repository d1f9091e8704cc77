"""Schedules as sentences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain.cron import check_cron
from dueline.domain.crontab import canonical, read
from dueline.domain.describing.sentences import describe
from dueline.domain.describing.wording import length, nth, ordinal
from dueline.domain.errors import InvalidSchedule
from dueline.domain.instants import INSTANT_MS_MAX, parse_instant
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, OnExcluded, Repeat, Rule, Schedule

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
BERLIN = "Europe/Berlin"


def ms(text: str) -> int:
    return parse_instant(text, field="")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        # Times of day.
        ("0 9 * * *", "At 09:00 every day"),
        ("@daily", "At 00:00 every day"),
        ("30 0 9 * * *", "At 09:00:30 every day"),
        ("0 9,17 * * *", "At 09:00 and 17:00 every day"),
        ("0,30 9,17 * * *", "At 09:00, 09:30, 17:00 and 17:30 every day"),
        ("0 8-18/2 * * *", "At 08:00, 10:00, 12:00, 14:00, 16:00 and 18:00 every day"),
        ("0 1,4,5,9,13,18,22 * * *", "At 01:00, 04:00, 05:00, 09:00, 13:00, 18:00 and 22:00 every day"),
        # Hours.
        ("0 * * * *", "Every hour on the hour"),
        ("15 * * * *", "At 15 minutes past every hour"),
        ("1 * * * *", "At 1 minute past every hour"),
        ("0 */2 * * *", "Every 2 hours from 00:00 through 22:00"),
        ("15 */2 * * *", "Every 2 hours from 00:15 through 22:15"),
        ("0 9-17 * * *", "Every hour from 09:00 through 17:00"),
        ("30 8-17 * * 1-5", "Every hour from 08:30 through 17:30 on Monday through Friday"),
        # Minutes.
        ("* * * * *", "Every minute"),
        ("*/15 * * * *", "Every 15 minutes"),
        ("0,15,30,45 * * * *", "Every 15 minutes"),
        ("*/15 8-18 * * *", "Every 15 minutes between 08:00 and 18:59"),
        ("*/15 8-17 * * 1-5", "Every 15 minutes between 08:00 and 17:59 on Monday through Friday"),
        ("* 8 * * *", "Every minute between 08:00 and 08:59"),
        ("*/15 0-5,22,23 * * *", "Every 15 minutes between 22:00 and 05:59"),
        ("*/15 8-11,14-17 * * *", "Every 15 minutes between 08:00 and 11:59 and between 14:00 and 17:59"),
        ("*/15 1,4,8,13,20 * * *", "Every 15 minutes in the hours 01:00, 04:00, 08:00, 13:00 and 20:00"),
        ("*/15 */2 * * *", "Every 15 minutes in every 2nd hour from 00:00 through 22:00"),
        ("5,20,35 * * * *", "At 5, 20 and 35 minutes past every hour"),
        ("5,20,35 8-17 * * *", "At 5, 20 and 35 minutes past the hour between 08:00 and 17:59"),
        ("10-20 * * * *", "Every minute from 10 through 20 minutes past every hour"),
        ("*/7 * * * *", "Every 7 minutes from 0 through 56 minutes past every hour"),
        ("0-30/5 9 * * *", "Every 5 minutes from 09:00 through 09:30"),
        # Seconds.
        ("* * * * * *", "Every second"),
        ("*/10 * * * * *", "Every 10 seconds"),
        ("*/10 * 9 * * *", "Every 10 seconds between 09:00 and 09:59"),
        ("*/10 0,30 9 * * *", "Every 10 seconds in minutes 0 and 30 of the hour between 09:00 and 09:59"),
        ("*/7 * * * * *", "Every 7 seconds from 0 through 56 seconds past every minute"),
        ("*/7 3 * * * *", "Every 7 seconds from 0 through 56 seconds past the minute in minute 3 of every hour"),
        ("30 * * * * *", "At 30 seconds past every minute"),
        ("5,35 * * * * *", "At 5 and 35 seconds past every minute"),
        ("1 1,2,3 * * * *", "At 1 second past the minute in minutes 1 through 3 of every hour"),
        # Days of the week.
        ("0 9 * * 1-5", "At 09:00 on Monday through Friday"),
        ("0 9 * * MON", "At 09:00 on Monday"),
        ("0 9 * * 7", "At 09:00 on Sunday"),
        ("0 9 * * MON,THU", "At 09:00 on Monday and Thursday"),
        ("0 9 * * 0,6", "At 09:00 on Saturday and Sunday"),
        ("0 9 * * FRI-MON", "At 09:00 on Monday and Friday through Sunday"),
        ("0 9 * * 0-6", "At 09:00 every day"),
        ("0 9 * * MON#1", "At 09:00 on the first Monday of the month"),
        ("0 9 * * TUE#2,TUE#4", "At 09:00 on the second Tuesday and the fourth Tuesday of the month"),
        ("0 9 * * FRIL", "At 09:00 on the last Friday of the month"),
        ("0 9 * * MON#1,FRIL", "At 09:00 on the first Monday and the last Friday of the month"),
        ("0 9 * * MON,FRIL", "At 09:00 on Monday and the last Friday of the month"),
        # Days of the month.
        ("0 9 1 * *", "At 09:00 on the 1st of the month"),
        ("0 9 1,15 * *", "At 09:00 on the 1st and the 15th of the month"),
        ("0 9 1-7 * *", "At 09:00 on the 1st through the 7th of the month"),
        ("0 9 */2 * *", "At 09:00 on every 2nd day from the 1st through the 31st of the month"),
        ("0 9 11,12,13,21,22,23 * *", "At 09:00 on the 11th through the 13th and the 21st through the 23rd of the month"),
        ("0 9 L * *", "At 09:00 on the last day of the month"),
        ("0 9 L-1 * *", "At 09:00 on the day before the last day of the month"),
        ("0 9 L-3 * *", "At 09:00 on the 3rd day before the last day of the month"),
        ("0 9 1,L * *", "At 09:00 on the 1st and the last day of the month"),
        ("0 9 LW * *", "At 09:00 on the last weekday of the month"),
        ("0 9 15W * *", "At 09:00 on the weekday nearest the 15th of the month"),
        ("0 9 1W,15W * *", "At 09:00 on the weekday nearest the 1st and the weekday nearest the 15th of the month"),
        # Months and years.
        ("0 18 24 12 *", "At 18:00 on 24 December"),
        ("0 18 24,31 12 *", "At 18:00 on the 24th and the 31st of December"),
        ("5 0 1 1,4,7,10 *", "At 00:05 on the 1st of January, April, July and October"),
        ("0 9 L 2 *", "At 09:00 on the last day of February"),
        ("0 9 * 6 *", "At 09:00 every day in June"),
        ("0 9 * 6-8 1-5", "At 09:00 on Monday through Friday in June through August"),
        ("0 9 * 3,6,9,12 FRIL", "At 09:00 on the last Friday of March, June, September and December"),
        ("*/10 * * 6 *", "Every 10 minutes in June"),
        ("0 0 0 1 1 ? 2027", "At 00:00 on 1 January in 2027"),
        ("0 0 9 * * * 2026-2028", "At 09:00 every day in 2026 through 2028"),
        ("0 0 9 ? * MON 2026,2028", "At 09:00 on Monday in 2026 and 2028"),
        ("0 0 9 1 1 ? 2026-2034/2", "At 09:00 on 1 January in every 2nd year from 2026 through 2034"),
        # Both fields of days: either matches, or both where one of them begins with a star.
        ("30 4 1,15 * 5", "At 04:30 on the 1st and the 15th of the month or on Friday"),
        ("0 0 13 6 FRI", "At 00:00 on 13 June or on Friday in June"),
        ("0 9 1 * MON#1", "At 09:00 on the 1st of the month or on the first Monday of the month"),
        ("0 0 1-31 * 5", "At 00:00 every day"),
        ("0 0 */2 * 5", "At 00:00 on Friday, if it is also every 2nd day from the 1st through the 31st of the month"),
    ],
)  # fmt: skip
def test_cron(expression: str, sentence: str) -> None:
    assert describe(Cron(canonical(expression), timezone=BERLIN)) == f"{sentence}, {BERLIN}"


def test_a_hashed_expression_is_told_in_its_numbers() -> None:
    cron = check_cron("H 3 * * *", "UTC", now_ms=0, seed=b"a job")
    minute = cron.hashed.split()[0]
    assert describe(cron) == f"At 03:{int(minute):02} every day, UTC"


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (At(ms("2026-12-24T18:00:00Z")), "Once, on 24 December 2026 at 18:00, UTC"),
        (At(ms("2026-12-24T17:00:30Z"), timezone=BERLIN), f"Once, on 24 December 2026 at 18:00:30, {BERLIN}"),
        (At(ms("2026-12-24T18:00:00.250Z")), "Once, on 24 December 2026 at 18:00:00.250, UTC"),
        (Every(15 * MINUTE_MS, ms("2026-01-01T00:00:00Z")), "Every 15 minutes, counted from 1 January 2026 00:00 UTC"),
        (Every(HOUR_MS, ms("2026-01-01T00:00:00Z")), "Every hour, counted from 1 January 2026 00:00 UTC"),
        (Every(90 * MINUTE_MS, ms("2026-01-01T00:00:00Z"), timezone=BERLIN),
         f"Every 1 hour and 30 minutes, counted from 1 January 2026 01:00 {BERLIN}"),
        (Every(36 * HOUR_MS, 0), "Every 1 day and 12 hours, counted from 1 January 1970 00:00 UTC"),
        (After(15 * MINUTE_MS, ms("2026-01-01T00:00:00Z")),
         "15 minutes after each run ends, first at 1 January 2026 00:00 UTC"),
        (After(1_500, ms("2026-01-01T00:00:00Z")), "1.5 seconds after each run ends, first at 1 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), months=1, times=5), "Every month from 31 January 2026 00:00 UTC, 5 times"),
        (Repeat(ms("2026-01-31T00:00:00Z"), months=1, times=1), "Every month from 31 January 2026 00:00 UTC, once"),
        (Repeat(ms("2026-01-31T00:00:00Z"), months=3), "Every 3 months from 31 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), months=12), "Every year from 31 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), months=18, days=1, clock_ms=HOUR_MS),
         "Every 1 year, 6 months, 1 day and 1 hour from 31 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), days=2), "Every 2 days from 31 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), days=14), "Every 2 weeks from 31 January 2026 00:00 UTC"),
        (Repeat(ms("2026-01-31T00:00:00Z"), clock_ms=15 * MINUTE_MS), "Every 15 minutes from 31 January 2026 00:00 UTC"),
    ],
)  # fmt: skip
def test_the_other_kinds(schedule: Schedule, sentence: str) -> None:
    assert describe(schedule) == sentence


START = "from 1 January 2026 09:00 Europe/Berlin"


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("FREQ=DAILY", f"Every day at 09:00, {START}"),
        ("RRULE:FREQ=DAILY", f"Every day at 09:00, {START}"),
        ("FREQ=DAILY;INTERVAL=2;COUNT=10", f"Every 2 days at 09:00, {START}, 10 times"),
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=30", f"Every day at 09:30 and 17:30, {START}"),
        ("FREQ=DAILY;BYMONTH=6,7", f"Every day in June and July at 09:00, {START}"),
        ("FREQ=WEEKLY", f"Every week on Thursday at 09:00, {START}"),
        ("FREQ=WEEKLY;BYMONTH=6", f"Every week on Thursday in June at 09:00, {START}"),
        ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", f"Every 2 weeks on Monday and Friday at 09:00, {START}"),
        ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;WKST=SU", f"Every week on Monday through Friday at 09:00, {START}"),
        ("FREQ=MONTHLY", f"Every month on the 1st of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYMONTHDAY=1,-1", f"Every month on the 1st and the last day of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", f"Every month on the 2nd day before the last day of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYDAY=2TU", f"Every month on the second Tuesday of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYDAY=-1FR", f"Every month on the last Friday of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYDAY=-2FR", f"Every month on the 2nd last Friday of the month at 09:00, {START}"),
        ("FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR", f"Every month on Friday that is also the 13th of the month at 09:00, {START}"),
        ("FREQ=YEARLY", f"Every year on 1 January at 09:00, {START}"),
        ("FREQ=YEARLY;BYMONTH=3,9", f"Every year on the 1st of March and September at 09:00, {START}"),
        ("FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", f"Every year on the fourth Thursday of November at 09:00, {START}"),
        ("FREQ=YEARLY;BYDAY=20MO", f"Every year on the 20th Monday of the year at 09:00, {START}"),
        ("FREQ=HOURLY;INTERVAL=6", f"Every 6 hours, {START}"),
        ("FREQ=MINUTELY;INTERVAL=15;BYDAY=SA,SU", f"Every 15 minutes on Saturday and Sunday, {START}"),
        ("FREQ=DAILY;UNTIL=20261231T230000Z", f"Every day at 09:00, {START}, until 31 December 2026 23:00 UTC"),
        ("FREQ=DAILY;UNTIL=20261231", f"Every day at 09:00, {START}, until 31 December 2026"),
        # What no sentence says better than the rule.
        ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", f"By the recurrence rule FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1, {START}"),
        ("FREQ=YEARLY;BYWEEKNO=20", f"By the recurrence rule FREQ=YEARLY;BYWEEKNO=20, {START}"),
        ("FREQ=YEARLY;BYMONTHDAY=13", f"By the recurrence rule FREQ=YEARLY;BYMONTHDAY=13, {START}"),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", f"By the recurrence rule FREQ=WEEKLY;INTERVAL=2;WKST=SU, {START}"),
        ("FREQ=HOURLY;BYHOUR=9", f"By the recurrence rule FREQ=HOURLY;BYHOUR=9, {START}"),
        ("FREQ=MONTHLY;BYDAY=1MO,TU", f"By the recurrence rule FREQ=MONTHLY;BYDAY=1MO,TU, {START}"),
        ("FREQ=DAILY;BYMINUTE=0,10,20,30,40,50,55", f"By the recurrence rule FREQ=DAILY;BYMINUTE=0,10,20,30,40,50,55, {START}"),
    ],
)  # fmt: skip
def test_rules(rule: str, sentence: str) -> None:
    # 1 January 2026 is a Thursday.
    assert describe(Rule(rule, ms("2026-01-01T08:00:00Z"), timezone=BERLIN)) == sentence


def test_a_rule_tells_what_is_left_out_of_it() -> None:
    rule = Rule("FREQ=DAILY", ms("2026-01-01T09:00:00Z"), excluded_ms=(1, 2))
    assert describe(rule) == "Every day at 09:00, from 1 January 2026 09:00 UTC, without 2 occurrences of it"


NINE = "At 09:00 every day, Europe/Berlin"


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        (Cron("0 9 * * *", timezone=BERLIN, start_ms=ms("2026-01-01T00:00:00Z")), f"{NINE}, not before 1 January 2026 01:00 {BERLIN}"),
        (Cron("0 9 * * *", timezone=BERLIN, end_ms=ms("2026-01-01T00:00:00Z")), f"{NINE}, not after 1 January 2026 01:00 {BERLIN}"),
        (Cron("0 9 * * *", timezone=BERLIN, max_runs=5), f"{NINE}, at most 5 runs"),
        (Cron("0 9 * * *", timezone=BERLIN, max_runs=1), f"{NINE}, at most 1 run"),
        (Cron("0 9 * * *", timezone=BERLIN, jitter_ms=30_000), f"{NINE}, spread over 30 seconds"),
        (Cron("0 9 * * *", timezone=BERLIN, calendars=("holidays",)), f"{NINE}, except on the days of calendar holidays"),
        (Cron("0 9 * * *", timezone=BERLIN, calendars=("holidays", "fairs"), on_excluded=OnExcluded.AFTER),
         f"{NINE}, moved to a later day from the days of calendars holidays and fairs"),
        (Cron("0 9 * * *", timezone=BERLIN, calendars=("holidays",), on_excluded=OnExcluded.BEFORE),
         f"{NINE}, moved to an earlier day from the days of calendar holidays"),
        (Cron("0 9 * * *", timezone=BERLIN, changed=(ChangedOccurrence(1), ChangedOccurrence(2, 3), ChangedOccurrence(4, 5))),
         f"{NINE}, 1 occurrence left out, 2 occurrences moved"),
        (Cron("0 9 * * *", timezone=BERLIN, dst_gap=DstGap.SKIP), f"{NINE}, left out where the clocks jump over it"),
        (Cron("0 9 * * *", timezone=BERLIN, dst_gap=DstGap.RUN_BEFORE, dst_overlap=DstOverlap.SECOND),
         f"{NINE}, before the change where the clocks jump over it, the second time where the clocks show it twice"),
        (Cron("0 9 * * *", timezone=BERLIN, dst_overlap=DstOverlap.BOTH), f"{NINE}, both times where the clocks show it twice"),
        # Where the policies say nothing, nothing is said of them.
        (Cron("0 9 * * *", dst_gap=DstGap.SKIP), "At 09:00 every day, UTC"),
        (Cron("0 * * * *", timezone=BERLIN, dst_gap=DstGap.SKIP), f"Every hour on the hour, {BERLIN}"),
    ],
)  # fmt: skip
def test_shapes(schedule: Schedule, sentence: str) -> None:
    assert describe(schedule) == sentence


def test_instants_at_the_end_of_the_calendar_are_told_in_utc() -> None:
    text = describe(At(INSTANT_MS_MAX, timezone="Pacific/Apia"))
    assert text.startswith("Once, on 31 December 9999 at 23:59:59.999")


NUMBERS = st.integers(0, 59).map(str)
TERMS = (
    NUMBERS
    | st.sampled_from(
        ["*", "?", "*/2", "*/7", "0/5", "L", "LW", "L-3", "15W", "FRIL", "MON#2", "MON-FRI", "1-5", "JAN", "H"]
    )
    | st.tuples(NUMBERS, NUMBERS).map("-".join)
)
FIELDS = st.lists(TERMS, min_size=1, max_size=3).map(",".join)


@settings(max_examples=1_000)
@given(st.lists(FIELDS, min_size=5, max_size=6).map(" ".join))
def test_every_cron_expression_has_a_sentence(expression: str) -> None:
    try:
        concrete, _ = read(expression, b"seed")
    except InvalidSchedule:
        return
    assert describe(Cron(expression, timezone=BERLIN, hashed=concrete)).endswith(f", {BERLIN}")


@st.composite
def valid_cron(draw: st.DrawFn) -> str:
    def field(low: int, high: int, *special: str) -> str:
        number = st.integers(low, high)
        step = st.integers(1, high).map(lambda n: f"*/{n}")
        span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
        term = number.map(str) | step | span | st.sampled_from(["*", *special])
        return ",".join(draw(st.lists(term, min_size=1, max_size=3)))

    fields = [field(0, 59), field(0, 59), field(0, 23), field(1, 31, "L", "LW", "L-3", "15W"), field(1, 12, "JAN")]
    return " ".join([*fields, field(0, 6, "MON", "FRIL", "MON#2"), field(1970, 2199)])


@settings(max_examples=1_000)
@given(valid_cron())
def test_every_valid_cron_expression_has_a_sentence(expression: str) -> None:
    text = describe(Cron(expression))
    assert text.startswith(("At ", "Every "))
    assert text.endswith(", UTC")
    assert "  " not in text


@given(st.text(), st.integers(0, INSTANT_MS_MAX))
def test_every_rule_has_a_sentence(rule: str, anchor_ms: int) -> None:
    assert describe(Rule(rule, anchor_ms, timezone=BERLIN))
    assert describe(Rule(f"FREQ=MONTHLY;{rule}", anchor_ms, timezone=BERLIN))


@given(st.integers(0, INSTANT_MS_MAX), st.integers(1, 10**12), st.sampled_from(["UTC", "Pacific/Apia", "America/Adak"]))
def test_the_other_kinds_have_sentences_at_any_time(at_ms: int, long_ms: int, zone: str) -> None:
    for schedule in (
        At(at_ms, timezone=zone),
        Every(long_ms, at_ms, timezone=zone),
        After(long_ms, at_ms, timezone=zone),
    ):
        assert describe(schedule)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (length(0), "0 seconds"),
        (length(250), "0.25 seconds"),
        (length(1_000), "1 second"),
        (length(DAY_MS + HOUR_MS + 61_000), "1 day, 1 hour, 1 minute and 1 second"),
        (ordinal(111), "111th"),
        (ordinal(102), "102nd"),
        (nth(-3), "3rd last"),
    ],
)
def test_words(told: str, text: str) -> None:
    assert told == text
