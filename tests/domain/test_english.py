"""What English schedules are understood as. Now is Wednesday 18 November 2026, 11:20:30 in Berlin."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from dueline.domain.cron import check_cron
from dueline.domain.english.phrases import Phrase, read_english
from dueline.domain.errors import InvalidSchedule
from dueline.domain.instants import parse_instant
from tests.domain.english_phrases import FIELD, NOW_MS, ZONE, understood


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        # Times of day.
        ("at noon", "0 12 * * *"),
        ("noon", "0 12 * * *"),
        ("daily at midnight", "0 0 * * *"),
        ("every day at 06:15", "15 6 * * *"),
        ("every day at 9", "0 9 * * *"),
        ("every day at 9 o'clock", "0 9 * * *"),
        ("every day at 09:00:30", "30 0 9 * * *"),
        ("every day at 9:30 pm", "30 21 * * *"),
        ("every day at 9 p.m.", "0 21 * * *"),
        ("every day at 12am", "0 0 * * *"),
        ("every day at 12pm", "0 12 * * *"),
        ("every day at 9:00 and 17:00", "0 9,17 * * *"),
        ("at 9, 12 and 15:00 on weekdays", "0 9,12,15 * * 1-5"),
        ("at 9:00, 9:30, 17:00 and 17:30", "*/30 9,17 * * *"),
        ("every noon", "0 12 * * *"),
        ("once a day at 9:00", "0 9 * * *"),
        ("at 9:00 every day", "0 9 * * *"),
        # Days of the week.
        ("every weekday at 9:00", "0 9 * * 1-5"),
        ("Every Weekday At 9:00.", "0 9 * * 1-5"),
        ("  every   weekday ,  at 9:00 ", "0 9 * * 1-5"),
        ("every weekday at 9am and 5pm", "0 9,17 * * 1-5"),
        ("weekdays 9:00", "0 9 * * 1-5"),
        ("every monday and thursday at 8", "0 8 * * 1,4"),
        ("every mon, wed, and fri at 8", "0 8 * * 1,3,5"),
        ("monday and thursday at 8", "0 8 * * 1,4"),
        ("mondays at 8:30", "30 8 * * 1"),
        ("on tuesdays and weekends at 8:30", "30 8 * * 0,2,6"),
        ("monday to friday at 8:00", "0 8 * * 1-5"),
        ("mon-fri at 8:00", "0 8 * * 1-5"),
        ("mon\u2013fri at 8:00", "0 8 * * 1-5"),
        ("from friday to monday at 8:00", "0 8 * * 0,1,5,6"),
        ("every weekend at 10:00", "0 10 * * 0,6"),
        ("weekly on sunday at 3am", "0 3 * * 0"),
        ("every week on tuesday at 3am", "0 3 * * 2"),
        ("every monday to sunday at 3am", "0 3 * * *"),
        # Steps within the day.
        ("every second", "* * * * * *"),
        ("every minute", "* * * * *"),
        ("every hour", "0 * * * *"),
        ("hourly", "0 * * * *"),
        ("every hour on the hour", "0 * * * *"),
        ("every hour at 15 minutes past", "15 * * * *"),
        ("every hour at 15 minutes past the hour", "15 * * * *"),
        ("15 minutes past every hour", "15 * * * *"),
        ("at 5 past every hour", "5 * * * *"),
        ("every hour at :15", "15 * * * *"),
        ("hourly at minute 15", "15 * * * *"),
        ("every hour at :00, :20 and :40", "*/20 * * * *"),
        ("every 4 hours at :30", "30 */4 * * *"),
        ("every hour at :30 on weekdays", "30 * * * 1-5"),
        ("every 15 minutes on weekdays", "*/15 * * * 1-5"),
        ("every 30 seconds on sundays", "*/30 * * * * 0"),
        ("every 2 hours on weekdays", "0 */2 * * 1-5"),
        ("every 60 minutes on weekdays", "0 * * * 1-5"),
        ("every 24 hours on weekdays", "0 0 * * 1-5"),
        ("every 10 minutes in june", "*/10 * * 6 *"),
        ("every minute on mondays", "* * * * 1"),
        # Parts of the day: the end belongs to it where one expression can say so, and nothing is later.
        ("every 15 minutes between 8 and 18", "*/15 8-17 * * *"),
        ("every 15 minutes between 8:00 and 18:00 on weekdays", "*/15 8-17 * * 1-5"),
        ("every 15 minutes from 8:00 to 18:00", "*/15 8-17 * * *"),
        ("every 15 minutes from 8-18", "*/15 8-17 * * *"),
        ("every 15 minutes 8-18", "*/15 8-17 * * *"),
        ("every 15 minutes 8:00-18:00 on weekdays", "*/15 8-17 * * 1-5"),
        ("on weekdays every 15 minutes between 8am and 6pm", "*/15 8-17 * * 1-5"),
        ("every 15 minutes from 8:00 through 17:45", "*/15 8-17 * * *"),
        ("every 15 minutes between 8:00 and 9:00", "*/15 8 * * *"),
        ("every 15 minutes between 8:15 and 8:45", "15,30,45 8 * * *"),
        ("every 15 minutes between 0:00 and 24:00", "*/15 * * * *"),
        ("every 15 minutes between 22:00 and 6:00", "*/15 0-5,22,23 * * *"),
        ("every hour between 9 and 17", "0 9-17 * * *"),
        ("hourly between 8:30 and 17:30", "30 8-17 * * *"),
        ("every 2 hours between 8 and 18", "0 8-18/2 * * *"),
        ("every 90 minutes between 9:00 and 10:00", "0 9 * * *"),
        ("every 7 minutes between 8:00 and 9:00", "*/7 8 * * *"),
        ("every minute between 8 and 9", "* 8 * * *"),
        ("every 30 seconds between 8 and 9 on mondays", "*/30 * 8 * * 1"),
        ("every hour at :15 between 8 and 18", "15 8-17 * * *"),
        ("every hour at :00 and :30 between 8 and 18", "*/30 8-17 * * *"),
        # Days of the month.
        ("monthly on the 15th at 9:00", "0 9 15 * *"),
        ("every month on the 15th at 9:00", "0 9 15 * *"),
        ("every 15th at 9:00", "0 9 15 * *"),
        ("on day 15 of the month at 9:00", "0 9 15 * *"),
        ("day 15 of every month at 9:00", "0 9 15 * *"),
        ("on the 1st and 15th of every month at 6:00", "0 6 1,15 * *"),
        ("on the twelfth of each month at 6:00", "0 6 12 * *"),
        ("first and last day of the month at 9:00", "0 9 1,L * *"),
        ("last day of the month 23:30", "30 23 L * *"),
        ("second last day of the month at 9:00", "0 9 L-1 * *"),
        ("second to last day of the month at 9:00", "0 9 L-1 * *"),
        ("last weekday of the month at 18:00", "0 18 LW * *"),
        ("first weekday of the month at 18:00", "0 18 1W * *"),
        ("weekday nearest the 15th of the month at 9:00", "0 9 15W * *"),
        ("on the weekday nearest to the 15th of the month at 9:00", "0 9 15W * *"),
        ("first monday of the month at noon", "0 12 * * MON#1"),
        ("every second tuesday of the month at 10:00", "0 10 * * TUE#2"),
        ("2nd and 4th tuesday of the month at 10:00", "0 10 * * TUE#2,TUE#4"),
        ("first monday and last friday of the month at 10:00", "0 10 * * MON#1,FRIL"),
        ("last friday of the month at 17:30", "30 17 * * FRIL"),
        ("every month on the last friday at 17:30", "30 17 * * FRIL"),
        ("every second of the month at 10:00", "0 10 2 * *"),
        # Months, quarters and years.
        ("every day at 9:00 in january and july", "0 9 * 1,7 *"),
        ("every day at 9:00 in june to august", "0 9 * 6-8 *"),
        ("every weekday at 9:00 in november to february", "0 9 * 1,2,11,12 1-5"),
        ("on the first monday of january at 9:00", "0 9 * 1 MON#1"),
        ("every january on the 1st at 9:00", "0 9 1 1 *"),
        ("every 2 months on the 1st at 04:00", "0 4 1 1-11/2 *"),
        ("every 3 months on the 1st at 04:00", "0 4 1 1,4,7,10 *"),
        ("every six months on the last day at 23:00", "0 23 L 1,7 *"),
        ("every quarter on the first day at 00:05", "5 0 1 1,4,7,10 *"),
        ("quarterly on the last day at 23:00", "0 23 L 3,6,9,12 *"),
        ("last friday of the quarter at 17:00", "0 17 * 3,6,9,12 FRIL"),
        ("yearly on 24 December at 18:00", "0 18 24 12 *"),
        ("every year on december 24th at 18:00", "0 18 24 12 *"),
        ("annually on the 24th of december at 18:00", "0 18 24 12 *"),
        ("every 24 December at 18:00", "0 18 24 12 *"),
        ("every january 1st at 00:00", "0 0 1 1 *"),
        ("every 1st of january and july at 9:00", "0 9 1 1,7 *"),
        ("every 29 february at noon", "0 12 29 2 *"),
        ("first day of the year at 0:00", "0 0 1 1 *"),
        ("yearly on the last day at 0:00", "0 0 L 12 *"),
    ],
)  # fmt: skip
def test_what_follows_the_wall_clock_is_cron(text: str, cron: str) -> None:
    assert understood(text) == Phrase(cron=cron)
    check_cron(cron, ZONE, now_ms=NOW_MS)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every 30 seconds", 30),
        ("every 15 minutes", 900),
        ("every ten minutes", 600),
        ("every 15m", 900),
        ("every 1h30m", 5_400),
        ("every 90 minutes", 5_400),
        ("every half hour", 1_800),
        ("every half an hour", 1_800),
        ("every quarter of an hour", 900),
        ("every 2 hours", 7_200),
        ("every other hour", 7_200),
        ("every 1 hour", 3_600),
        ("every 1 hour and 30 minutes", 5_400),
        ("every 48 hours", 172_800),
        ("every 1 day and 12 hours", 129_600),
    ],
)
def test_a_number_of_units_alone_is_a_fixed_rate(text: str, seconds: int) -> None:
    assert understood(text) == Phrase(every_ms=seconds * 1000)


@pytest.mark.parametrize(
    "text",
    [
        "15 minutes after the last run ends",
        "15 minutes after each run",
        "15 minutes after each run ends",
        "15 minutes after the previous run has finished",
        "15 minutes after the last one is done",
        "every 15 minutes after the last run ends",
        "15m after completion",
    ],
)
def test_a_pause_between_runs(text: str) -> None:
    assert understood(text) == Phrase(after_ms=900_000)


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("in 2 hours", "2026-11-18T13:20:30"),
        ("in two hours", "2026-11-18T13:20:30"),
        ("in an hour", "2026-11-18T12:20:30"),
        ("in 90 seconds", "2026-11-18T11:22:00"),
        ("in 1 day and 2 hours", "2026-11-19T13:20:30"),
        ("in 2h", "2026-11-18T13:20:30"),
        ("2 hours from now", "2026-11-18T13:20:30"),
        ("in 2 days at 9:00", "2026-11-20T09:00:00"),
        ("now", "2026-11-18T11:20:30"),
        ("right now", "2026-11-18T11:20:30"),
        ("today at 18:00", "2026-11-18T18:00:00"),
        # Up to a minute late is not late.
        ("today at 11:20", "2026-11-18T11:20:00"),
        ("tomorrow at 7pm", "2026-11-19T19:00:00"),
        ("at 7pm tomorrow", "2026-11-19T19:00:00"),
        ("tomorrow at midnight", "2026-11-19T00:00:00"),
        ("the day after tomorrow at noon", "2026-11-20T12:00:00"),
        ("next friday at 12:00", "2026-11-20T12:00:00"),
        ("next wednesday at 12:00", "2026-11-25T12:00:00"),
        ("on next tuesday at 12:00", "2026-11-24T12:00:00"),
        ("on 24 December 2026 at 18:00", "2026-12-24T18:00:00"),
        ("once on 24 December 2026 at 18:00", "2026-12-24T18:00:00"),
        ("on the 24th of December 2026 at 18:00", "2026-12-24T18:00:00"),
        ("on thursday 24 December 2026 at 18:00", "2026-12-24T18:00:00"),
        ("December 24, 2026, 6pm", "2026-12-24T18:00:00"),
        ("18:00 on 24 Dec 2026", "2026-12-24T18:00:00"),
        ("2026-12-24 18:00", "2026-12-24T18:00:00"),
        ("2026-12-24 at 18:00:30", "2026-12-24T18:00:30"),
        ("2026-12-24T18:00", "2026-12-24T18:00:00"),
        ("2020-12-24 18:00", "2020-12-24T18:00:00"),
        # The clocks jump over 02:30 and show it twice.
        ("2027-03-28 02:30", "2027-03-28T03:00:00"),
        ("2027-10-31 02:30", "2027-10-31T02:30:00"),
    ],
)  # fmt: skip
def test_a_single_moment(text: str, local: str) -> None:
    expected = datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(ZONE))
    assert understood(text) == Phrase(at_ms=int(expected.timestamp()) * 1000)


def test_a_moment_with_an_offset_is_that_instant() -> None:
    assert understood("2026-12-24T18:00:00Z") == Phrase(at_ms=parse_instant("2026-12-24T18:00:00Z", field=""))


@pytest.mark.parametrize(
    ("text", "repeat"),
    [
        ("every 2 days at 9:00", "R/2026-11-19T08:00:00.000Z/P2D"),
        ("every other day at 12:00", "R/2026-11-18T11:00:00.000Z/P2D"),
        ("every 2 weeks on friday at 17:00", "R/2026-11-20T16:00:00.000Z/P14D"),
        ("every other monday at 9:00", "R/2026-11-23T08:00:00.000Z/P14D"),
        ("every other week on wednesday at 9:00", "R/2026-11-25T08:00:00.000Z/P14D"),
    ],
)
def test_days_and_weeks_that_cron_cannot_count_repeat_on_the_calendar(text: str, repeat: str) -> None:
    assert understood(text) == Phrase(repeat=repeat)


def test_what_repeats_on_the_calendar_counts_from_its_start() -> None:
    """Which is part of the interval; one that has passed counts all the same."""
    ahead = understood("every 2 weeks on monday at 9:00 from 1 March 2027")
    assert ahead == Phrase(repeat="R/2027-03-01T08:00:00.000Z/P14D")
    past = understood("every 3 days at 9:00 from 2026-01-01")
    assert past == Phrase(repeat="R/2026-01-01T08:00:00.000Z/P3D")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("every day at 9:00 Europe/Paris", "Europe/Paris"),
        ("every day at 9:00 in Europe/Paris", "Europe/Paris"),
        ("every day at 9:00 europe/paris time", "Europe/Paris"),
        ("every day at 9:00 (Europe/Paris).", "Europe/Paris"),
        ("every day at 9:00 america/argentina/buenos_aires", "America/Argentina/Buenos_Aires"),
        ("every day at 9:00 Africa/Dar_es_Salaam", "Africa/Dar_es_Salaam"),
        ("every day at 9:00 UTC", "UTC"),
        ("every day at 9:00 utc", "UTC"),
        ("every day at 9:00 Etc/GMT+5", "Etc/GMT+5"),
        ("every day Europe/Paris at 9:00", "Europe/Paris"),
    ],
)
def test_a_text_may_name_its_zone(text: str, zone: str) -> None:
    assert understood(text) == Phrase(cron="0 9 * * *", timezone=zone)


def test_moments_are_read_in_the_zone_that_is_named() -> None:
    expected = parse_instant("2026-11-18T20:00:00+09:00", field="")
    assert understood("today at 20:00 Asia/Tokyo") == Phrase(at_ms=expected, timezone="Asia/Tokyo")
    # On Kiritimati it is Thursday already.
    expected = parse_instant("2026-11-20T09:00:00+14:00", field="")
    assert understood("tomorrow at 9:00 Pacific/Kiritimati").at_ms == expected


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("every day at 9:00 from 1 March 2027", "2027-03-01T00:00:00", None),
        ("every day at 9:00 starting 2027-03-01", "2027-03-01T00:00:00", None),
        ("every day at 9:00 starting on 1 March 2027 at 12:00", "2027-03-01T12:00:00", None),
        ("every day at 9:00 until 2026-12-31", None, "2027-01-01T00:00:00"),
        ("every day at 9:00 until 31 December 2026 at 12:00", None, "2026-12-31T12:00:00.001"),
        ("every day at 9:00 between 2027-03-01 and 2027-03-31", "2027-03-01T00:00:00", "2027-04-01T00:00:00"),
        ("every day at 9:00 from 2027-03-01 to 2027-03-31", "2027-03-01T00:00:00", "2027-04-01T00:00:00"),
        ("from tomorrow every day at 9:00", "2026-11-19T00:00:00", None),
        # The time of the start is the time of the other days too.
        ("every day starting tomorrow at 9:00", "2026-11-19T09:00:00", None),
    ],
)
def test_bounds(text: str, start: str | None, end: str | None) -> None:
    def instant_ms(local: str) -> int:
        return round(datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(ZONE)).timestamp() * 1000)

    phrase = understood(text)
    assert phrase.cron == "0 9 * * *"
    assert phrase.start_ms == (None if start is None else instant_ms(start))
    # Bounds are inclusive: the last millisecond before.
    assert phrase.end_ms == (None if end is None else instant_ms(end) - 1)


def test_a_fixed_rate_counts_from_its_start() -> None:
    phrase = understood("every 2 hours starting tomorrow at 9:00")
    assert phrase == Phrase(every_ms=7_200_000, start_ms=parse_instant("2026-11-19T09:00:00+01:00", field=""))


def test_the_zone_of_the_schedule_is_checked_too() -> None:
    with pytest.raises(InvalidSchedule, match="unknown time zone"):
        read_english("at noon", timezone="Europe/Nowhere", now_ms=NOW_MS, field=FIELD)
