"""Which language a schedule string is in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.languages import Language, recognise

AT, CRON, EVERY = Language.AT, Language.CRON, Language.EVERY
REPEAT, RRULE, ENGLISH = Language.REPEAT, Language.RRULE, Language.ENGLISH


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("@daily", CRON),
        ("  @hourly ", CRON),
        ("@fortnightly", CRON),
        ("* * * * *", CRON),
        ("0 9 * * 1-5", CRON),
        ("0 9 * * mon-fri", CRON),
        ("0\t9  *   * MON-FRI", CRON),
        ("0 9 1 1 1", CRON),
        ("0 0 9 1 1 ? 2027", CRON),
        ("0 15 10 ? 2 MON#2,MON#4", CRON),
        ("0 15 10 15W 8 ?", CRON),
        ("0 15 10 L-2 8 FRIL", CRON),
        ("H H 1,15 1-11 ?", CRON),
        ("H(0-29)/10 9 1 1 1", CRON),
        # Mistakes in cron are told by cron.
        ("0 9 * *", CRON),
        ("0 9 1 1", CRON),
        ("61 9 * * *", CRON),
        ("0 9 * * MOO", CRON),
        ("* * * * * * * *", CRON),
        ("PT15M", EVERY),
        ("P1DT2H", EVERY),
        ("P1M", EVERY),
        ("15m", EVERY),
        ("1h30m", EVERY),
        ("250ms", EVERY),
        ("R5/2026-01-31T00:00:00Z/P1M", REPEAT),
        ("R/2026-01-31T00:00:00Z/P1M", REPEAT),
        ("r/PT5M/2026-01-31T00:00:00Z", REPEAT),
        ("RRULE:FREQ=DAILY", RRULE),
        ("FREQ=WEEKLY;BYDAY=MO", RRULE),
        ("INTERVAL=2;FREQ=DAILY", RRULE),
        ("freq=daily", RRULE),
        ("DTSTART:20260101T090000Z\nRRULE:FREQ=DAILY", RRULE),
        ("DTSTART;TZID=Europe/Berlin:20260101T090000\nRRULE:FREQ=DAILY", RRULE),
        ("2026-12-24T18:00:00Z", AT),
        ("2026-12-24T18:00:00.250+01:00", AT),
        ("2026-12-24 18:00Z", AT),
        ("2026-99-99T18:00:00Z", AT),
        # Wall clock times belong to a zone.
        ("2026-12-24 18:00", ENGLISH),
        ("2026-12-24T18:00", ENGLISH),
        ("2026-12-24", ENGLISH),
        # Five, six and seven words of English.
        ("every day at 9 am", ENGLISH),
        ("every monday at 9:00 UTC", ENGLISH),
        ("first mon of the month at 9", ENGLISH),
        ("every jan 1 at 9 am", ENGLISH),
        ("on 24 december 2026 at 9", ENGLISH),
        ("mon, wed and fri at 9", ENGLISH),
        ("in 2 hours", ENGLISH),
        ("at noon", ENGLISH),
        ("noon", ENGLISH),
        ("repeat hourly", ENGLISH),
        ("p", ENGLISH),
        ("", ENGLISH),
    ],
)  # fmt: skip
def test_a_language_is_told_by_its_shape(text: str, language: Language) -> None:
    assert recognise(text) is language


@given(st.text())
def test_every_text_has_a_language(text: str) -> None:
    assert recognise(text) in Language


@given(
    st.lists(st.sampled_from(["every", "day", "at", "9", "am", "mon", "jan", "the", "1st", "and"]), min_size=5, max_size=7)
)  # fmt: skip
def test_words_that_are_no_fields_are_not_cron(words: list[str]) -> None:
    english = {"every", "day", "at", "am", "the", "1st", "and"} & set(words)
    assert (recognise(" ".join(words)) is ENGLISH) == bool(english)
