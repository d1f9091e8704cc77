"""The load to come: how many runs each minute of the next hours will bring, which minutes are hottest, and what would spread them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dueline.domain import limits
from dueline.domain.changes import Calendars, compiled
from dueline.domain.crontab import canonical
from dueline.domain.crontab import compiled as crontab
from dueline.domain.schedule import After, At, Cron, Every, Schedule

MINUTE_MS = 60_000
_HOTTEST = 10
_PROPOSALS = 5
_NAMES_SHOWN = 3


class Share(msgspec.Struct, frozen=True):
    """What jobs with one schedule bring to a minute."""

    schedule: Schedule
    jobs: int
    runs: float
    names: tuple[str, ...]


class HotMinute(msgspec.Struct, frozen=True):
    at_ms: int
    runs: float
    shares: tuple[Share, ...]


class Proposal(msgspec.Struct, frozen=True):
    """A change of some jobs that lowers the peak."""

    schedule: Schedule
    jobs: int
    names: tuple[str, ...]
    change: str
    peak_before: float
    peak_after: float


class _Group(msgspec.Struct):
    """Jobs that come at the same times."""

    schedule: Schedule
    runs_left: int | None
    jobs: int = 0
    names: list[str] = []
    loads: dict[int, float] = {}


class Forecast:
    """Counts jobs in, then answers. Runs of jobs that count from the end of their last run are taken to be short."""

    def __init__(self, *, from_ms: int, minutes: int) -> None:
        self.from_ms = from_ms // MINUTE_MS * MINUTE_MS
        self.minutes = minutes
        self.loads = [0.0] * minutes
        self.jobs = 0
        self._groups: dict[tuple[Schedule, int | None], _Group] = {}

    def add(self, schedule: Schedule, name: str, *, runs_left: int | None = None) -> None:
        self.jobs += 1
        key = (_rounded(schedule, self.from_ms), runs_left)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group(schedule=schedule, runs_left=runs_left)
        group.jobs += 1
        if len(group.names) < _NAMES_SHOWN:
            group.names.append(name)

    def count(self, calendars: Calendars) -> None:
        """Work out the loads, once all jobs are in."""
        end_ms = self.from_ms + self.minutes * MINUTE_MS
        for group in self._groups.values():
            spread = max(1, -(-group.schedule.jitter_ms // MINUTE_MS))
            loads: dict[int, float] = {}
            left = group.runs_left
            for at_ms, count in _fires(group.schedule, calendars, self.from_ms, end_ms):
                runs = count if left is None else min(count, left)
                left = None if left is None else left - runs
                first = (at_ms - self.from_ms) // MINUTE_MS
                for minute in range(first, min(first + spread, self.minutes)):
                    loads[minute] = loads.get(minute, 0.0) + runs / spread
                if left == 0:
                    break
            group.loads = loads
            for minute, load in loads.items():
                self.loads[minute] += load * group.jobs

    def hottest(self) -> list[HotMinute]:
        order = sorted(range(self.minutes), key=lambda minute: (-self.loads[minute], minute))[:_HOTTEST]
        return [
            HotMinute(self.from_ms + minute * MINUTE_MS, self.loads[minute], tuple(self._shares(minute)))
            for minute in order
            if self.loads[minute]
        ]

    def proposals(self) -> list[Proposal]:
        """Changes that lower the peak, the one that lowers it most first, each on top of those before it."""
        loads, found = list(self.loads), []
        groups = [group for group in self._groups.values() if group.jobs > 1]
        for _ in range(_PROPOSALS):
            peak = max(loads, default=0.0)
            hot = loads.index(peak) if peak else 0
            spreadable = [group for group in groups if hot in group.loads and _spread(group.schedule) is not None]
            if not spreadable:
                break
            group = max(spreadable, key=lambda one: (one.loads[hot] * one.jobs, one.jobs))
            after = _spread_loads(loads, group, self.minutes)
            groups.remove(group)
            if max(after) >= peak:
                continue
            change = _spread(group.schedule) or ""
            found.append(Proposal(group.schedule, group.jobs, tuple(group.names), change, peak, max(after)))
            loads = after
        return found

    def _shares(self, minute: int) -> Iterator[Share]:
        groups = [group for group in self._groups.values() if minute in group.loads]
        groups.sort(key=lambda group: -group.loads[minute] * group.jobs)
        for group in groups[:_HOTTEST]:
            yield Share(group.schedule, group.jobs, group.loads[minute] * group.jobs, tuple(group.names))


def _rounded(schedule: Schedule, from_ms: int) -> Schedule:
    """A schedule of which thousands are the same to the minute, though each job has an anchor of its own."""
    if isinstance(schedule, Every) and schedule.period_ms >= MINUTE_MS and schedule.anchor_ms <= from_ms:
        phase_ms = schedule.anchor_ms % schedule.period_ms // MINUTE_MS * MINUTE_MS
        return msgspec.structs.replace(schedule, anchor_ms=phase_ms)
    return schedule


def _fires(schedule: Schedule, calendars: Calendars, from_ms: int, end_ms: int) -> Iterator[tuple[int, int]]:
    """Instants, and how many fires each stands for: those of one minute are told together where they are many."""
    count = 1
    if isinstance(schedule, After):
        schedule = Every(schedule.delay_ms, schedule.first_ms, start_ms=schedule.start_ms, end_ms=schedule.end_ms)
    if isinstance(schedule, Cron):
        seconds = crontab(schedule.concrete).seconds
        if len(seconds) > 1:
            fields = schedule.concrete.split()
            schedule = msgspec.structs.replace(schedule, hashed=" ".join([str(seconds[0]), *fields[1:]]))
            count = len(seconds)
    elif isinstance(schedule, Every) and schedule.period_ms < MINUTE_MS:
        count = MINUTE_MS // schedule.period_ms
        schedule = msgspec.structs.replace(schedule, period_ms=schedule.period_ms * count)
    times = compiled(schedule, calendars)
    at_ms = times.next_fire_after(from_ms - 1)
    for _ in range(limits.OCCURRENCES_SEARCHED_MAX):
        if at_ms is None or at_ms >= end_ms:
            return
        yield at_ms, count
        at_ms = times.next_fire_after(at_ms)


def _spread(schedule: Schedule) -> str | None:
    """What would spread jobs with a schedule over the hour; None where nothing is to be gained or it would change what was meant."""
    if schedule.jitter_ms or isinstance(schedule, At | After):
        return None
    if isinstance(schedule, Cron):
        fields = canonical(schedule.expression).split()
        minute = 0 if len(fields) == 5 else 1
        if not fields[minute].isdecimal():
            return None
        fields[minute] = "H"
        if minute:
            fields[0] = "H"
        return " ".join(fields)
    return "jitter PT10M" if isinstance(schedule, Every) and schedule.period_ms >= 10 * MINUTE_MS else None


def _spread_loads(loads: list[float], group: _Group, minutes: int) -> list[float]:
    """The loads with one group spread: a cron job over its hour, a fixed rate over ten minutes."""
    after = list(loads)
    width = 60 if isinstance(group.schedule, Cron) else 10
    for minute, load in group.loads.items():
        after[minute] -= load * group.jobs
        # Where the hour of the wall clock begins does not matter here: its minutes are the same in nearly every zone.
        first = minute // 60 * 60 if width == 60 else minute
        room = range(first, min(first + width, minutes))
        for other in room:
            after[other] += load * group.jobs / len(room)
    return after
