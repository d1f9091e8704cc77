"""Things that happen to one job, by chance: the same for the same seed."""

from __future__ import annotations

from datetime import date
from random import Random
from typing import Self

from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict, Invalid
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Verdict
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.schedule import Cron, Every
from dueline.domain.single_changes import ChangeKind
from dueline.domain.states import JobState
from tests.engine.books import DAY_S, MINUTE_MS, MINUTE_S, Books
from tests.support.stores import START_MS

NEW_YEAR = date(2026, 1, 1).toordinal()
EVENTS = ("work", "work", "outage", "pause", "resume", "edit", "rename", "skip", "move", "calendar")


class Story:
    """It begins close to midnight, so that excluded days begin and end while it lasts."""

    job: Job

    def __init__(self, books: Books, seed: int, *, limited: bool) -> None:
        self._books = books
        self._random = Random(seed)
        self._limited = limited

    @classmethod
    async def begin(cls, books: Books, seed: int, *, limited: bool) -> Self:
        story = cls(books, seed, limited=limited)
        await books.leap(DAY_S - 20 * MINUTE_S)
        await books.calendars.put(DEFAULT_TENANT, "off", _a_day(NEW_YEAR + 1))
        policy = story._random.choice(list(MisfirePolicy))
        misfire = Misfire(policy=policy, cap=3, window_ms=story._random.choice([5, 60]) * MINUTE_MS)
        story.job = await books.job(story._schedule(), misfire=misfire)
        return story

    async def happen(self) -> str:
        """One more thing; answers which."""
        books, job = self._books, self.job
        state = (await books.now_of(job)).state
        event = self._random.choice(EVENTS)
        match event:
            case "work":
                for _ in range(self._random.randint(1, 3)):
                    await books.leap(57)
                    await books.advance(3, tick_s=0.5)
            case "outage":
                await books.leap(self._random.randint(1, 15) * 37)
            case "pause" if state is JobState.ACTIVE:
                await books.pause(job)
            case "resume" if state is JobState.PAUSED:
                await books.resume(job)
            case "edit":
                await books.edit(job, schedule=self._schedule())
            case "rename":
                await books.edit(job, name=f"name-{self._random.random()}")
            case "skip":
                await self._change_one(ChangeKind.SKIP)
            case "move":
                await self._change_one(ChangeKind.MOVE, self._random.randint(1, 400) * 1000)
            case "calendar":
                await books.calendars.put(DEFAULT_TENANT, "off", _a_day(NEW_YEAR + self._random.randint(0, 1)))
        return event

    def _schedule(self) -> Every | Cron:
        calendars = self._random.choice([(), (), ("off",)])
        max_runs = self._random.choice([4, 9]) if self._limited else None
        if self._random.random() < 0.5:
            period_ms = self._random.choice([1, 2, 3]) * MINUTE_MS
            return Every(period_ms, START_MS, calendars=calendars, max_runs=max_runs)
        expression = self._random.choice(["* * * * *", "*/2 * * * *", "*/7 * * * *"])
        return Cron(expression, calendars=calendars, max_runs=max_runs)

    async def _change_one(self, kind: ChangeKind, later_ms: int | None = None) -> None:
        """One of the occurrences to come, where that can be."""
        books = self._books
        coming = await books.told(self.job, from_ms=books.now_ms + 1, to_ms=books.now_ms + 20 * MINUTE_MS)
        expected = [one.scheduled_ms for one in coming if one.verdict is Verdict.EXPECTED]
        to_ms = None if later_ms is None else books.now_ms + later_ms
        if expected:
            try:
                await books.change_one(self.job, self._random.choice(expected), kind, to_ms)
            except (Conflict, Invalid):
                return


def _a_day(day: int) -> Calendar:
    return Calendar(ranges=((day, day),))
