"""What English schedules are refused for, and where; and that nothing else than a refusal can come of any text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.cron import check_cron
from dueline.domain.crontab import compiled
from dueline.domain.english.phrases import Phrase
from dueline.domain.english.words import ADVERBS, ADVICE, MONTHS, ORDINALS, UNITS, WEEKDAYS
from dueline.domain.errors import InvalidSchedule
from tests.domain.english_phrases import FIELD, NOW_MS, ZONE, understood


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        # Words.
        ("", 1, "the end: something is missing; right would be \"every weekday at 9:00\""),
        (" , ", 3, "something is missing"),
        ("whenever", 1, "'whenever' is not understood; right would be \"every weekday at 9:00\""),
        ("every fridya at 9", 7, "'fridya' is not understood; did you mean 'friday' or 'fridays'?"),
        ("evry day at 9:00", 1, "did you mean 'every'"),
        ("every weekday at 9:00 plese", 23, "'plese' is not understood"),
        ("every", 6, "something is missing; right would be \"every day\""),
        ("every the day", 7, "'the' is not understood here"),
        ("every day at", 13, "something is missing; right would be a time such as 9:00"),
        ("every day at nine", 14, "'nine' is not understood here; right would be a time such as 9:00"),
        ("every day at 9:00 and", 19, "'and' is not understood here"),
        ("каждый день", 1, "'каждый' is not understood"),
        # What does not say enough, or not one thing.
        ("twice a day", 1, "does not say when; name the times, such as \"every day at 9:00 and 17:00\""),
        ("three times a day", 1, "'three' is not understood here"),
        ("every morning", 7, "is no time; name one, such as \"every day at 6:00\""),
        ("biweekly on monday at 9:00", 1, "say \"every 2 weeks on monday at 9:00\""),
        ("bimonthly", 1, "can mean two things"),
        ("every business day at 9:00", 7, "\"weekday\" is Monday to Friday"),
        ("every day except monday at 9:00", 11, "days are left out by calendars"),
        ("every fifteen minutes", 7, "must be written in digits"),
        ("every day at sunrise", 14, "is no time; name one"),
        ("every day at 9:00 for a week", 19, "name the end, such as \"until 2027-01-31\""),
        ("every hour during the day", 12, "say \"between 9:00 and 17:00\""),
        ("every 12 hours starting at 6:00", 28, "or \"tomorrow at 9:00\""),
        ("this friday at 9:00", 1, "can mean two things; say \"next friday\", or the date"),
        ("every day", 10, "something is missing; right would be a time, such as \"at 9:00\""),
        ("daily", 6, "a time, such as \"at 9:00\""),
        ("every weekday", 14, "a time, such as \"at 9:00\""),
        ("weekly at 9:00", 15, "the day, such as \"weekly on monday at 9:00\""),
        ("every month at 9:00", 20, "the day, such as \"monthly on the 15th at 9:00\""),
        ("yearly at 9:00", 15, "the day, such as \"on the first day of the year at 0:05\""),
        ("every january at 9:00", 22, "the day, such as \"every january on the 1st at 9:00\""),
        ("every other day", 16, "a time, such as \"every 2 days at 9:00\", or \"every 48 hours\""),
        ("every 2 weeks at 9:00", 22, "the day, such as \"every 2 weeks on monday at 9:00\""),
        ("every 2 weeks on monday and friday at 9:00", 18, "is more than one day; make a schedule for each"),
        ("monday at 9", 1, "is it once or every week? say \"every monday\" or \"next monday\""),
        ("on friday at 17:00", 4, "is it once or every week?"),
        ("24 december at 18:00", 1, "is it once or every year? name the year, as in \"24 December 2026\""),
        ("on the 15th at 9:00", 8, "needs the month; say \"of the month\""),
        ("every second monday at 9:00", 7, "needs the month; say \"of the month\""),
        ("every day at 9:00 and on mondays", 26, "names days beside \"every day\"; leave one of them out"),
        ("monday 24 december 2026 at 9:00", 1, "is not the weekday of that date"),
        ("every monday 24 december 2026 at 9:00", 7, "does not go with a single day"),
        ("every third day at 9:00", 7, "can mean two things; say \"every 3 days at 9:00\""),
        ("every third hour", 7, "is not understood before 'hour'; say \"every 3 hours\""),
        ("on the last", 12, "\"last day\", \"last weekday\" or \"last friday\""),
        ("tomorrow", 9, "a time, such as \"tomorrow at 9:00\""),
        ("next week at 9:00", 1, "'next' is not understood here"),
        ("15 minutes", 1, "is how long, and not when; say \"every 15 minutes\""),
        ("an hour", 1, "is how long, and not when; say \"every hour\" or \"in an hour\""),
        ("15 minutes after lunch", 18, "\"15 minutes after the last run ends\""),
        # Times.
        ("every day at 25:00", 14, "is no time of day; they go from 0:00 to 23:59"),
        ("every day at 9:60", 14, "is no time of day"),
        ("every day at 24:00", 14, "is the end of a day; say 0:00"),
        ("every day at 13pm", 14, "is no time; with pm the hour is 1 to 12"),
        ("every day at 2 and 4pm", 14, "is it am or pm? say 2am or 2pm"),
        ("every hour between 9 and 5pm", 20, "is it am or pm? say 9am or 9pm"),
        ("every hour between 9 and 5", 26, "is before the beginning; say it with minutes"),
        ("at 9:00 and 17:30", 1, "begins times that no single cron expression has; make two schedules"),
        ("every 15 minutes at 9:00", 18, "does not go with steps of time"),
        ("every hour at :75", 15, "':75' is not understood"),
        ("every hour at minute 75", 22, "is no minute; they go from 0 to 59"),
        ("every day at :15", 11, "needs its hours; say \"every hour at :15\""),
        ("every 5 hours at :15", 15, "every 1, 2, 3, 4, 6, 8 or 12 hours"),
        # Steps and parts of the day.
        ("every 0 minutes", 7, "is no time at all"),
        ("every 1.5 hours", 7, "is no whole number; say \"every 90 minutes\""),
        ("every 9999999999 minutes", 7, "is too large"),
        ("every 999999999 hours", 7, "must be between PT1S and P3660D"),
        ("every 7 minutes on weekdays", 7, "an hour or a day cannot be divided"),
        ("every 5 hours on weekdays", 7, "an hour or a day cannot be divided"),
        ("every 90 minutes on weekdays", 7, "an hour or a day cannot be divided"),
        ("every 15 minutes between 8:30 and 18:00", 18, "no single cron expression has with this step"),
        ("every 15 minutes from 8:00 through 18:00", 18, "no single cron expression has with this step"),
        ("every 90 minutes between 9:00 and 17:00", 18, "no single cron expression has with this step"),
        ("every 7 seconds between 8 and 9", 17, "goes with seconds by which a minute can be divided"),
        ("every 15 minutes between 22:00 and 6:00 on weekdays", 18, "runs over midnight"),
        ("every day between 8 and 18", 11, "needs how often; say \"every 15 minutes between"),
        ("every 15 minutes between 8", 27, "\"and\", and the time of the end"),
        ("every 15 minutes until 18:00", 18, "needs its beginning too"),
        ("every day at 9:00 between 8 and 18", 19, "does not go with single times"),
        # Days.
        ("every 31 february at 9:00", 7, "is no date of the calendar"),
        ("on the 31st of april and june at 9:00", 8, "is no date of the calendar"),
        ("on the 10th and 31st of april at 9:00", 8, "is no day of these months; the longest has 30 days"),
        ("on the 32nd of the month at 9:00", 8, "is no day of a month; they are 1st to 31st"),
        ("sixth monday of the month at 9:00", 1, "is more than the weeks of a month"),
        ("second weekday of the month at 9:00", 1, "only \"first weekday\" and \"last weekday\""),
        ("every friday the 13th at 9:00", 18, "\"FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR\""),
        ("every 5 months on the 1st at 9:00", 7, "must divide a year"),
        ("every quarter on the 15th at 9:00", 22, "\"every 3 months on the 15th at 9:00\""),
        ("every 2 years on 24 december at 9:00", 7, "is longer than cron can count"),
        ("every weekday at 9:00 and every weekend at 10:00", 33, "says days of the week a second time"),
        ("every day every hour", 11, "says how often a second time"),
        ("at 9:00 at 10:00", 9, "says the time a second time"),
        # Single days.
        ("today at 9:00", 10, "has passed today; say \"tomorrow\""),
        ("tomorrow at 9:00 and 17:00", 22, "is a second time; here there is one"),
        ("tomorrow every hour", 10, "does not go with a single day or moment"),
        ("every 24 december 2026 at 9:00", 7, "is a single day, and comes once"),
        ("24/12/2026 at 9:00", 1, "say 2026-12-24 or 24 December 2026"),
        ("24.12.2026 at 9:00", 1, "say 2026-12-24 or 24 December 2026"),
        ("2026-02-30 at 9:00", 1, "is no date of the calendar"),
        ("2026-02-30T09:00", 1, "is no moment of the calendar"),
        ("2200-01-01 at 9:00", 1, "lies in the year 2200; years go from 1970 to 2199"),
        ("in 2 months", 4, "counts months, which differ in length"),
        ("in 2 hours at 9:00", 12, "does not go with a time from now"),
        ("in 999999999 weeks", 1, "lies more than ten years ahead"),
        ("in 999999999 weeks at 9:00", 1, "lies more than ten years ahead"),
        ("once at 9:00", 1, "is a single run; name its day"),
        ("now at 9:00", 5, "does not go with a moment that has its time already"),
        # Zones and bounds.
        ("every day at 9:00 CET", 19, "use UTC or an IANA name such as Europe/Berlin"),
        ("every day at 9:00 UTC+2", 19, "use UTC or an IANA name such as Europe/Berlin"),
        ("every day at 9:00 Europe/Pari", 19, "is no time zone; use an IANA name"),
        ("every day at 9:00 UTC Europe/Paris", 23, "is a second time zone"),
        ("every day at 9:00 from 1 march", 24, "needs its year here"),
        ("every day at 9:00 until christmas", 25, "a date such as 2026-12-31"),
        ("every day at 9:00 from 2027-03-01 until 2027-02-01", 19, "ends before it starts"),
        ("x" * 257, 257, "is longer than 256 letters"),
    ],
)  # fmt: skip
def test_a_refusal_tells_the_column_and_what_would_be_right(text: str, column: int, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        understood(text)
    [(field, why)] = raised.value.problems
    assert field == FIELD
    assert re.match(rf"(is longer .*)?at column {column}\b", why)
    assert reason in why


VOCABULARY = sorted(
    {*ADVERBS, *MONTHS, *ORDINALS, *UNITS, *WEEKDAYS, *ADVICE}
    | {
        "every",
        "each",
        "other",
        "half",
        "quarter",
        "the",
        "of",
        "and",
        "at",
        "on",
        "in",
        "from",
        "to",
        "until",
        "between",
    }
    | {
        "through",
        "starting",
        "next",
        "last",
        "once",
        "today",
        "tomorrow",
        "now",
        "noon",
        "midnight",
        "am",
        "pm",
        "past",
    }
    | {"after", "run", "ends", "weekday", "weekend", "nearest", "a", "an", "-", ",", "&", "UTC", "time", "o'clock"}
    | {"0", "1", "2", "3", "7", "8", "15", "18", "31", "90", "99", "999999999", "9:00", "9am", "17:30", "24:00", ":15"}
    | {"1st", "15th", "31st", "2026", "2026-12-24", "2027-03-28T02:30", "24/12/2026", "8-18", "15m", "Europe/Paris"}
)


def check_any(text: str) -> None:
    try:
        phrase = understood(text)
    except InvalidSchedule as error:
        [(field, why)] = error.problems
        assert field == FIELD
        assert "at column " in why
        return
    kinds = [phrase.cron, phrase.every_ms, phrase.at_ms, phrase.after_ms, phrase.repeat]
    assert sum(kind is not None for kind in kinds) == 1
    if phrase.cron is not None:
        check_cron(phrase.cron, phrase.timezone or ZONE, now_ms=NOW_MS)


@settings(max_examples=1_500)
@given(st.lists(st.sampled_from(VOCABULARY), max_size=9).map(" ".join))
def test_words_in_any_order_are_understood_or_refused(text: str) -> None:
    check_any(text)


PERIODS = st.sampled_from(
    ["every 15 minutes", "every 2 hours", "hourly", "daily", "every day", "every month", "every quarter", "every year", "weekly",
     "every 2 weeks", "every other day", "every 3 months", "every 30 seconds", ""]
)  # fmt: skip
DAYS = st.sampled_from(
    ["on weekdays", "every monday", "on the 1st and 15th of the month", "last day of the month", "on the 31st", "first monday",
     "last friday of the quarter", "every 24 december", "second last day of february", "mon-fri", "in june", "the 30th of february",
     "every 31st of april and may", ""]
)  # fmt: skip
TIMES = st.sampled_from(
    ["at 9:00", "at 9 and 17", "at 9:00 and 17:30", "noon", "between 8 and 18", "between 22:00 and 6:00", "at :15", "from 8-18",
     "at 9:00:30", ""]
)  # fmt: skip
ENDS = st.sampled_from(
    ["", "UTC", "in Europe/Paris", "until 2027-01-01", "from 1 march 2027", "starting tomorrow at 9:00"]
)


@settings(max_examples=1_000)
@given(st.tuples(PERIODS, DAYS, TIMES, ENDS).flatmap(st.permutations).map(" ".join))
def test_clauses_in_any_order_are_understood_or_refused(text: str) -> None:
    check_any(text)


@settings(max_examples=500)
@given(
    st.integers(1, 200),
    st.integers(0, 1_439),
    st.integers(0, 1_440),
    st.sampled_from(["between {} and {}", "from {} to {}", "from {} through {}"]),
)
def test_a_part_of_the_day_has_all_its_steps_and_nothing_else(step: int, first: int, last: int, words: str) -> None:
    shown = words.format(*(f"{minute // 60}:{minute % 60:02}" for minute in (first, last)))
    try:
        phrase = understood(f"every {step} minutes {shown}")
    except InvalidSchedule:
        return
    assert phrase.cron is not None
    crontab = compiled(phrase.cron)
    assert not crontab.interval_like or len(crontab.hours) == 24
    fires = {hour * 60 + minute for hour in crontab.hours for minute in crontab.minutes}
    end = first + ((last - first) % 1_440 or 1_440)
    expected = {minute % 1_440 for minute in range(first, end, step)}
    at_end = (end - first) % step == 0 and end % 1_440 not in expected
    assert fires in ([expected, expected | {end % 1_440}] if at_end else [expected])
    assert "through" not in words or not at_end or end == 1_440 or end % 1_440 in fires


@settings(max_examples=500)
@given(st.text(max_size=limits.WHEN_LETTERS_MAX + 10))
def test_any_text_is_understood_or_refused(text: str) -> None:
    check_any(text)


@pytest.mark.parametrize(
    "word", ["1 " * 128, "and " * 64, "every " * 42, "first " * 42, "1-" * 128, "1h" * 128, "a/" * 128, "mon," * 64]
)
def test_long_texts_of_one_word_end(word: str) -> None:
    with pytest.raises(InvalidSchedule):
        understood(word)


def test_a_phrase_is_small_when_it_is_told() -> None:
    assert Phrase(cron="0 9 * * *") == understood("every day at 9:00")
