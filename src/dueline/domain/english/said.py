"""What an English schedule has said so far. Everything is said once: a second time is refused where it stands."""

from __future__ import annotations

from typing import NamedTuple

from dueline.domain.english.times import Amount, Clock, Now
from dueline.domain.english.words import Word, Words


class Window(NamedTuple):
    """A part of every day, from a second of the day to another; `through` when the end must belong to it."""

    first: int
    last: int
    through: bool
    word: Word


class Said:
    """The parts, each None or empty until it was said, and the word that each of them began with."""

    def __init__(self, now: Now) -> None:
        self.now = now
        self.where: dict[str, Word] = {}
        self.period: list[Amount] = []
        self.bare = False
        """Whether the period is a unit without a number: "every hour", "hourly"."""
        self.repeats = False
        """Whether "every" stands before days."""
        self.repeats_in_months = False
        self.once: Word | None = None
        self.weekdays: list[int] = []
        self.plural = False
        self.dates: list[str] = []
        self.nths: list[str] = []
        self.months: list[int] = []
        self.of = ""
        """What ordinals count in: "month", "quarter", "year" or "months", those that are named; "date" for a date without a year."""
        self.times: list[Clock] = []
        self.past: list[int] = []
        self.window: Window | None = None
        self.after: list[Amount] = []
        self.delay: list[Amount] = []
        self.day: int | None = None
        self.moment_ms: int | None = None
        self.start_ms: int | None = None
        self.start_second: int | None = None
        self.end_ms: int | None = None

    def set_period(self, words: Words, amounts: list[Amount], *, bare: bool = False) -> None:
        self._claim(words, "period", amounts[0].word, "how often")
        self.period, self.bare = amounts, bare

    def set_weekdays(self, words: Words, weekdays: list[int], word: Word, *, plural: bool) -> None:
        self._claim(words, "weekdays", word, "days of the week")
        self.weekdays, self.plural = weekdays, plural

    def add_dates(self, words: Words, dates: list[str], word: Word) -> None:
        self._claim(words, "dates", word, "days of the month")
        self.dates = dates

    def add_nths(self, words: Words, nths: list[str], word: Word) -> None:
        self._claim(words, "nths", word, "weekdays of the month")
        self.nths = nths

    def add_months(self, words: Words, months: list[int], word: Word) -> None:
        self._claim(words, "months", word, "months")
        self.months = months

    def set_times(self, words: Words, times: list[Clock], word: Word) -> None:
        self._claim(words, "times", word, "the time")
        self.times = times

    def set_past(self, words: Words, minutes: list[int], word: Word) -> None:
        self._claim(words, "past", word, "the minutes past the hour")
        self.past = minutes

    def set_window(self, words: Words, window: Window) -> None:
        self._claim(words, "window", window.word, "the part of the day")
        self.window = window

    def set_after(self, words: Words, amounts: list[Amount], word: Word) -> None:
        self._claim(words, "after", word, "the pause between runs")
        self.after = amounts

    def set_delay(self, words: Words, amounts: list[Amount], word: Word) -> None:
        self._claim(words, "one time", word, "the day")
        self.delay = amounts

    def set_day(self, words: Words, day: int, word: Word) -> None:
        self._claim(words, "one time", word, "the day")
        self.day = day

    def set_moment(self, words: Words, at_ms: int, word: Word) -> None:
        self._claim(words, "one time", word, "the day")
        self.moment_ms = at_ms

    def set_start(self, words: Words, moment: tuple[int, int | None], word: Word) -> None:
        self._claim(words, "start", word, "the start")
        self.start_ms, self.start_second = moment

    def set_end(self, words: Words, moment: tuple[int, int | None], word: Word) -> None:
        self._claim(words, "end", word, "the end")
        self.end_ms = moment[0]

    def other_than(self, *parts: str) -> Word | None:
        """The first word of what was said beside these parts."""
        return next((word for part, word in self.where.items() if part not in parts), None)

    def _claim(self, words: Words, part: str, word: Word, told: str) -> None:
        if part in self.where:
            words.refuse(word, f"says {told} a second time; one schedule says it once, so make two")
        self.where[part] = word
