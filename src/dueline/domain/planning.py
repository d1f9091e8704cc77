"""Which occurrences of a job become runs now, and which comes next."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from typing import assert_never

import msgspec

from dueline.domain import limits
from dueline.domain.firetimes import FireTimes


class MisfirePolicy(StrEnum):
    FIRE_ONCE = "fire_once"
    FIRE_ALL = "fire_all"
    SKIP = "skip"


class Misfire(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What becomes of occurrences that nobody could fire in time. A one-time job is run however late."""

    policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    window_ms: int = limits.MISFIRE_WINDOW_MS
    cap: int = limits.MISFIRE_CAP


class Plan(msgspec.Struct, frozen=True):
    """The occurrences to run, in order, and the first one left undecided (None: the schedule is exhausted)."""

    missed_ms: tuple[int, ...]
    on_time_ms: tuple[int, ...]
    next_ms: int | None


def plan(times: FireTimes, misfire: Misfire, *, next_ms: int, now_ms: int, until_ms: int) -> Plan:
    """Decide every occurrence from `next_ms` to `until_ms`: the missed ones by policy, the others all.

    The plan always moves on, however much was missed.
    """
    missed_ms: tuple[int, ...] = ()
    following_ms: int | None = next_ms
    missed_before_ms = now_ms - limits.MISFIRE_GRACE_MS
    if next_ms < missed_before_ms and not times.one_time:
        missed_ms = choose_missed(times, misfire, first_ms=next_ms, last_ms=missed_before_ms - 1, now_ms=now_ms)
        following_ms = times.next_after(missed_before_ms - 1)
    on_time_ms: list[int] = []
    while following_ms is not None and following_ms <= until_ms and len(on_time_ms) < limits.OCCURRENCES_PER_PASS_MAX:
        on_time_ms.append(following_ms)
        later_ms = times.next_after(following_ms)
        assert later_ms is None or later_ms > following_ms, "time must move on"
        following_ms = later_ms
    return Plan(missed_ms, tuple(on_time_ms), following_ms)


def choose_missed(times: FireTimes, misfire: Misfire, *, first_ms: int, last_ms: int, now_ms: int) -> tuple[int, ...]:
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
    return latest_occurrences(times, first_ms=max(first_ms, now_ms - misfire.window_ms), last_ms=last_ms, most=most)


def latest_occurrences(times: FireTimes, *, first_ms: int, last_ms: int, most: int) -> tuple[int, ...]:
    """The latest `most` occurrences between two instants, inclusive, found by looking back in doubling spans.

    The work grows with what is returned, not with how many occurrences were missed.
    """
    span_ms = 60_000
    while True:
        start_ms = max(first_ms, last_ms - span_ms)
        found = deque[int](maxlen=most)
        at_ms = times.next_after(start_ms - 1)
        while at_ms is not None and at_ms <= last_ms:
            found.append(at_ms)
            at_ms = times.next_after(at_ms)
        if len(found) == most or start_ms <= first_ms:
            return tuple(found)
        span_ms *= 2
