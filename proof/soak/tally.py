"""Every call that the target saw, counted against every occurrence that was demanded: millions of both, so one byte for each occurrence."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from proof.records import Answered, Call, Fault, Hit, each_line, instant_ms

EARLY_MS = 5.0
WINDOW_S = 10.0
SAMPLED = 1_000
"""One run of so many is looked at with everything that is told of it."""
SHOWN = 100
"""Problems of a kind that are kept; all are counted."""
_MOST = 255


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """Ten seconds of calls, as they came."""

    at_s: float
    calls: int
    lag_p50_ms: float
    lag_p95_ms: float
    lag_max_ms: float


class Tally(msgspec.Struct, kw_only=True):
    demanded: int = 0
    hits: int = 0
    missing: int = 0
    strange: int = 0
    early: int = 0
    problems: dict[str, list[str]] = {}
    """By the count that they belong to."""
    by_hand: Counter[str] = msgspec.field(default_factory=Counter)
    """Calls of runs that somebody asked for, by their markers."""
    again: set[str] = set()
    """Runs that were called more than once."""
    sampled: set[str] = set()
    windows: list[Window] = []
    outside_ms: Counter[int] = msgspec.field(default_factory=Counter)
    """How late the first calls of occurrences were where no accident was near: so many by so many milliseconds."""

    def complain(self, what: str, problem: str) -> None:
        kept = self.problems.setdefault(what, [])
        if len(kept) < SHOWN:
            kept.append(problem)


class _Job(msgspec.Struct, frozen=True):
    """Where the counts of its occurrences begin, and which instants they are of."""

    place: int
    first_ms: int
    period_ms: int
    occurrences: int

    def place_of(self, at_ms: int) -> int | None:
        number, rest = divmod(at_ms - self.first_ms, self.period_ms)
        return self.place + number if not rest and 0 <= number < self.occurrences else None


class Counts:
    """How often each demanded occurrence was called."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._jobs: dict[str, _Job] = {}
        self._certain: list[str] = []
        places = 0
        for call in calls:
            if call.operation != "create" or call.answered is Answered.REFUSED:
                continue
            job = _job_of(call, places)
            self._jobs[call.marker] = job
            places += job.occurrences
            if call.answered is Answered.ACKNOWLEDGED:
                self._certain.append(call.marker)
        self._counts = bytearray(places)

    @property
    def demanded(self) -> int:
        """By calls that were acknowledged."""
        return sum(self._jobs[marker].occurrences for marker in self._certain)

    def count(self, marker: str, at_ms: int) -> int | None:
        """Count one call; answers how many there are of its occurrence by now, or None where there is no such occurrence."""
        job = self._jobs.get(marker)
        place = None if job is None else job.place_of(at_ms)
        if place is None:
            return None
        self._counts[place] = min(_MOST, self._counts[place] + 1)
        return self._counts[place]

    def missing(self) -> Iterator[tuple[str, int]]:
        """Every demanded occurrence that was never called: the job's marker, and the instant."""
        for marker in self._certain:
            job = self._jobs[marker]
            counts = self._counts[job.place : job.place + job.occurrences]
            number = counts.find(0)
            while number >= 0:
                yield marker, job.first_ms + number * job.period_ms
                number = counts.find(0, number + 1)


def _job_of(call: Call, place: int) -> _Job:
    """The load of a soak has two kinds of schedules."""
    schedule = call.asked["schedule"]
    if "at" in schedule:
        return _Job(place, instant_ms(schedule["at"]), 1, 1)
    period_ms = int(schedule["every"].removeprefix("PT").removesuffix("S")) * 1000
    first_ms = instant_ms(schedule["start_at"])
    return _Job(place, first_ms, period_ms, (instant_ms(schedule["end_at"]) - first_ms) // period_ms + 1)


def tally(hits: Path, calls: list[Call], faults: list[Fault]) -> Tally:
    """All of it, in one pass over the target's log."""
    counts = Counts(calls)
    told = Tally(demanded=counts.demanded)
    runs_by_hand = {call.id for call in calls if call.operation in ("adhoc", "run_now") and call.id is not None}
    markers = {call.marker for call in calls if call.operation in ("adhoc", "run_now")}
    hurt_s = {second for fault in faults for second in range(int(fault.begin_s) - 1, int(fault.settled_s) + 2)}
    window = _Windows(told)
    for hit in each_line(hits, Hit):
        told.hits += 1
        due_ms = _due_ms(hit.scheduled_at)
        lag_ms = hit.at_s * 1000 - due_ms
        if lag_ms < -EARLY_MS:
            told.early += 1
            told.complain("early", f"{hit.run} of {hit.scheduled_at} came {-lag_ms:.1f} ms early")
        if zlib.crc32(hit.run.encode()) % SAMPLED == 0:
            told.sampled.add(hit.run)
        count = None if hit.run in runs_by_hand else counts.count(hit.marker, due_ms)
        if count is None and hit.marker not in markers:
            told.strange += 1
            told.complain("strange", f"{hit.run} of {hit.marker!r} for {hit.scheduled_at} was not asked for")
        elif count is None:
            told.by_hand[hit.marker] += 1
        elif count == 1:
            window.add(hit.at_s, lag_ms)
            if int(hit.at_s) not in hurt_s and due_ms // 1000 not in hurt_s:
                told.outside_ms[int(lag_ms)] += 1
        if hit.attempt > 1 or (count or 0) > 1:
            told.again.add(hit.run)
    window.close()
    for marker, at_ms in counts.missing():
        told.missing += 1
        told.complain("missing", f"{marker} was never called for {at_ms}")
    return told


class _Windows:
    """The windows of a log whose calls are in the order in which they came."""

    def __init__(self, told: Tally) -> None:
        self._told = told
        self._at_s = 0.0
        self._lags_ms: list[float] = []

    def add(self, at_s: float, lag_ms: float) -> None:
        if at_s >= self._at_s + WINDOW_S:
            self.close()
            self._at_s = at_s // WINDOW_S * WINDOW_S
        self._lags_ms.append(lag_ms)

    def close(self) -> None:
        if self._lags_ms:
            ordered = sorted(self._lags_ms)
            self._told.windows.append(
                Window(
                    at_s=self._at_s,
                    calls=len(ordered),
                    lag_p50_ms=ordered[len(ordered) // 2],
                    lag_p95_ms=ordered[len(ordered) * 95 // 100],
                    lag_max_ms=ordered[-1],
                )
            )
        self._lags_ms = []


@lru_cache(maxsize=65_536)
def _due_ms(text: str) -> int:
    """Calls of one instant come together."""
    return instant_ms(text)


def hits_of_runs(hits: Path, wanted: Container[str]) -> list[Hit]:
    return [hit for hit in each_line(hits, Hit) if hit.run in wanted]


def percentiles_ms(lags_ms: Counter[int], shares: Iterable[int]) -> dict[int, float]:
    """The milliseconds within which so many of a hundred are."""
    found: dict[int, float] = defaultdict(float)
    total = lags_ms.total()
    for share in shares:
        seen = 0
        for lag_ms in sorted(lags_ms):
            seen += lags_ms[lag_ms]
            if seen * 100 >= total * share:
                found[share] = float(lag_ms)
                break
    return dict(found)
