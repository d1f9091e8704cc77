"""Which occurrences of a job become runs now, what becomes of the others, and which comes next."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

import msgspec

from dueline.domain import limits
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import RunId
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.states import EndReason

if TYPE_CHECKING:
    from dueline.domain.firetimes import FireTimes

Told = tuple[Verdict, SkipReason | None]


class MisfirePolicy(StrEnum):
    FIRE_ONCE = "fire_once"
    FIRE_ALL = "fire_all"
    SKIP = "skip"


class Misfire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What becomes of occurrences that nobody could fire in time. A one-time job is run however late."""

    policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    window_ms: int = limits.MISFIRE_WINDOW_MS
    cap: int = limits.MISFIRE_CAP


class Position(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How far a job's schedule has been decided.

    `next_ms` is the first occurrence nobody has decided about, `due_ms` the first one that fires: until then there is nothing to do.
    A schedule that counts from the end of a run has no next occurrence while it is `awaiting` that run. None of them: the schedule is
    exhausted. `runs_left` None: as many as come.
    """

    next_ms: int | None = None
    due_ms: int | None = None
    awaiting: RunId | None = None
    runs_left: int | None = None


class Plan(msgspec.Struct, frozen=True, gc=False):
    """The occurrences to run, in order, those that do not run, and the first one left undecided (None: the schedule is exhausted)."""

    missed_ms: tuple[int, ...]
    on_time_ms: tuple[int, ...]
    next_ms: int | None
    due_ms: int | None
    unfired: tuple[Unfired, ...] = ()

    @property
    def runs(self) -> int:
        return len(self.missed_ms) + len(self.on_time_ms)


def plan(
    times: FireTimes,
    misfire: Misfire,
    *,
    next_ms: int,
    now_ms: int,
    until_ms: int,
    runs_left: int | None = None,
    because: SkipReason | None = None,
) -> Plan:
    """Decide every occurrence from `next_ms` to `until_ms`: the missed ones by policy, the others all.

    `because` is the reason to tell for those that are skipped, where it is known better than that they were missed. The plan always
    moves on, however much was missed.
    """
    missed_ms: tuple[int, ...] = ()
    unfired: tuple[Unfired, ...] = ()
    following_ms: int | None = next_ms
    missed_before_ms = now_ms - limits.MISFIRE_GRACE_MS
    if times.single:
        if times.end_ms is not None and next_ms > times.end_ms:
            return Plan((), (), None, None)
    elif next_ms < missed_before_ms:
        last_ms = missed_before_ms - 1
        missed_ms = choose_missed(times, misfire, first_ms=next_ms, last_ms=last_ms, now_ms=now_ms, runs_left=runs_left)
        unfired = _account(times, misfire, missed_ms, first_ms=next_ms, last_ms=last_ms, now_ms=now_ms, because=because)
        following_ms = times.next_after(last_ms)
    left = limits.OCCURRENCES_PER_PASS_MAX
    exhausts = runs_left is not None and runs_left - len(missed_ms) <= left
    if runs_left is not None and exhausts:
        left = runs_left - len(missed_ms)
    on_time_ms: list[int] = []
    skips: list[tuple[int, SkipReason]] = []
    while following_ms is not None and following_ms <= until_ms and len(on_time_ms) < left:
        reason = times.skip_reason(following_ms) if times.marked else None
        if reason is None:
            on_time_ms.append(following_ms)
        else:
            skips.append((following_ms, reason))
        later_ms = None if times.follows else times.next_after(following_ms)
        assert later_ms is None or later_ms > following_ms, "time must move on"
        following_ms = later_ms
    if exhausts and len(on_time_ms) == left:
        following_ms = None
    if not times.marked:
        return Plan(missed_ms, tuple(on_time_ms), following_ms, following_ms, unfired)
    return _marked_plan(times, missed_ms, on_time_ms, following_ms, unfired, skips)


def position_at(times: FireTimes, next_ms: int | None, *, runs_left: int | None) -> Position:
    """Where a schedule stands whose first undecided occurrence is given.

    One of which nothing is to fire is not exhausted: each of its occurrences is told about when its time has come, those that
    calendars exclude a year at a time.
    """
    if next_ms is None or not times.marked:
        return Position(next_ms=next_ms, due_ms=next_ms, runs_left=runs_left)
    due_ms = times.next_fire_after(next_ms - 1)
    if due_ms is None:
        due_ms = next_ms
        if times.skip_reason(next_ms) is SkipReason.CALENDAR and not times.single:
            # Calendars change. Nobody has to look at every occurrence until then.
            due_ms += limits.EXCLUDED_DAYS_MAX * DAY_MS
            due_ms = due_ms if times.end_ms is None else max(min(due_ms, times.end_ms), next_ms)
    return Position(next_ms=next_ms, due_ms=due_ms, runs_left=runs_left)


def choose_missed(
    times: FireTimes, misfire: Misfire, *, first_ms: int, last_ms: int, now_ms: int, runs_left: int | None = None
) -> tuple[int, ...]:
    """The missed occurrences between two instants that the policy still runs."""
    match misfire.policy:
        case MisfirePolicy.SKIP:
            return ()
        case MisfirePolicy.FIRE_ONCE:
            most = 1
        case MisfirePolicy.FIRE_ALL:
            most = misfire.cap
        case _:
            assert_never(misfire.policy)
    if runs_left is not None:
        most = min(most, runs_left)
    return latest_occurrences(times, first_ms=max(first_ms, now_ms - misfire.window_ms), last_ms=last_ms, most=most)


def why_not(times: FireTimes, misfire: Misfire, scheduled_ms: int, *, now_ms: int) -> EndReason | None:
    """Why an occurrence does not run any more that was missed though its run was written; None when it still does. It is decided together
    with those missed after it."""
    if times.single or times.follows:
        return None
    last_ms = now_ms - limits.MISFIRE_GRACE_MS - 1
    chosen_ms = choose_missed(times, misfire, first_ms=scheduled_ms, last_ms=last_ms, now_ms=now_ms)
    if scheduled_ms in chosen_ms:
        return None
    return EndReason.COALESCED if chosen_ms and misfire.policy is MisfirePolicy.FIRE_ONCE else EndReason.MISFIRE


def latest_occurrences(times: FireTimes, *, first_ms: int, last_ms: int, most: int) -> tuple[int, ...]:
    """The latest `most` occurrences that fire between two instants, inclusive.

    Found by looking back in doubling spans, and forth again by halves where a span holds far more than were asked for: the work grows
    with what is returned, not with how many occurrences were missed.
    """
    few_ms, span_ms = last_ms + 1, 60_000
    while True:
        start_ms = max(first_ms, last_ms - span_ms)
        found = _occurrences(times, first_ms=start_ms, last_ms=last_ms, most=most)
        while found is None:
            middle_ms = (start_ms + few_ms) // 2
            found = _occurrences(times, first_ms=middle_ms, last_ms=last_ms, most=most)
            if found is None:
                start_ms = middle_ms
            elif len(found) < most:
                few_ms, found = middle_ms, None
        if len(found) == most or start_ms <= first_ms:
            return found
        few_ms, span_ms = start_ms, span_ms * 2


def _occurrences(times: FireTimes, *, first_ms: int, last_ms: int, most: int) -> tuple[int, ...] | None:
    """The latest `most` occurrences that fire between two instants; None when there are far more of them."""
    found = deque[int](maxlen=most)
    at_ms = times.next_fire_after(first_ms - 1)
    for _ in range(2 * most + limits.MISSED_SEARCHED_MIN):
        if at_ms is None or at_ms > last_ms:
            return tuple(found)
        found.append(at_ms)
        at_ms = times.next_fire_after(at_ms)
    return None


def _account(
    times: FireTimes,
    misfire: Misfire,
    chosen_ms: tuple[int, ...],
    *,
    first_ms: int,
    last_ms: int,
    now_ms: int,
    because: SkipReason | None,
) -> tuple[Unfired, ...]:
    """What became of the missed occurrences that were not chosen. Those chosen are the latest that fire."""
    window_ms = now_ms - misfire.window_ms
    old: Told = (Verdict.SKIPPED, because or SkipReason.WINDOW)
    recent: Told
    match misfire.policy:
        case MisfirePolicy.SKIP:
            old = recent = (Verdict.SKIPPED, because or SkipReason.MISFIRE)
        case MisfirePolicy.FIRE_ONCE:
            recent = (Verdict.COALESCED, None)
        case MisfirePolicy.FIRE_ALL:
            recent = (Verdict.SKIPPED, because or SkipReason.CAP)
        case _:
            assert_never(misfire.policy)
    if times.marked:
        exact = _marked_account(times, frozenset(chosen_ms), first_ms, last_ms, window_ms, old, recent)
        if exact is not None:
            return exact
    recent_until_ms = chosen_ms[0] - 1 if chosen_ms else last_ms
    if old == recent:
        lumped = _stretch(times, first_ms, recent_until_ms, *recent)
    else:
        lumped = (
            *_stretch(times, first_ms, min(window_ms - 1, last_ms), *old),
            *_stretch(times, max(first_ms, window_ms), recent_until_ms, *recent),
        )
    if not times.marked:
        return lumped
    if not chosen_ms:
        fires_ms = times.next_fire_after(first_ms - 1)
        if fires_ms is None or fires_ms > last_ms:
            return (Unfired(first_ms, last_ms, Verdict.SKIPPED, times.skip_reason(first_ms)),)
        return lumped
    # Those chosen are few, and between them lie only such as were left out.
    between = _marked_account(times, frozenset(chosen_ms), chosen_ms[0], last_ms, window_ms, old, recent)
    return (*lumped, *(between or ()))


def _stretch(
    times: FireTimes, from_ms: int, to_ms: int, verdict: Verdict, reason: SkipReason | None
) -> tuple[Unfired, ...]:
    """A stretch of one verdict, if there is an occurrence in it."""
    begins_ms = times.next_after(from_ms - 1)
    return () if begins_ms is None or begins_ms > to_ms else (Unfired(begins_ms, to_ms, verdict, reason),)


def _marked_account(
    times: FireTimes,
    chosen_ms: frozenset[int],
    first_ms: int,
    last_ms: int,
    window_ms: int,
    old: Told,
    recent: Told,
) -> tuple[Unfired, ...] | None:
    """The same for a schedule that says of some occurrences itself why they do not fire; None when they are too many to look at."""
    found: list[Unfired] = []
    together = False
    at_ms = times.next_after(first_ms - 1)
    for _ in range(limits.SKIPS_SEARCHED_MAX):
        if at_ms is None or at_ms > last_ms:
            return tuple(found)
        reason = times.skip_reason(at_ms)
        if at_ms in chosen_ms:
            together = False
        else:
            verdict = (Verdict.SKIPPED, reason) if reason is not None else old if at_ms < window_ms else recent
            _append(found, at_ms, *verdict, together=together)
            together = True
        at_ms = times.next_after(at_ms)
    return None


def _marked_plan(
    times: FireTimes,
    missed_ms: tuple[int, ...],
    on_time_ms: list[int],
    following_ms: int | None,
    unfired: tuple[Unfired, ...],
    skips: list[tuple[int, SkipReason]],
) -> Plan:
    told = list(unfired)
    last_ms = None
    fired = frozenset(on_time_ms)
    for at_ms, reason in skips:
        together = last_ms is not None and not any(last_ms < fired_ms < at_ms for fired_ms in fired)
        _append(told, at_ms, Verdict.SKIPPED, reason, together=together)
        last_ms = at_ms
    position = position_at(times, following_ms, runs_left=None)
    return Plan(missed_ms, tuple(on_time_ms), position.next_ms, position.due_ms, tuple(told))


def _append(found: list[Unfired], at_ms: int, verdict: Verdict, reason: SkipReason | None, *, together: bool) -> None:
    """One more occurrence, in the last stretch where it says the same and nothing ran between."""
    if together and found and (found[-1].verdict, found[-1].reason) == (verdict, reason):
        found[-1] = Unfired(found[-1].from_ms, at_ms, verdict, reason)
    else:
        found.append(Unfired(at_ms, at_ms, verdict, reason))
