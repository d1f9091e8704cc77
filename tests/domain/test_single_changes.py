"""One occurrence left out, moved, or put back; and what cannot be."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.changes import JobInHand, compiled
from dueline.domain.errors import Conflict, Invalid
from dueline.domain.schedule import After, At, ChangedOccurrence, Every, Schedule
from dueline.domain.single_changes import ChangeKind, OccurrenceChange, change_occurrence
from tests.domain.hands import HOUR_MS, MINUTE_MS, NOW_MS, a_definition, a_job, in_hand

HOURLY = Every(HOUR_MS, NOW_MS)
SKIP, RESTORE = OccurrenceChange(ChangeKind.SKIP), OccurrenceChange(ChangeKind.RESTORE)
NEXT_MS = NOW_MS + HOUR_MS


def move(to_ms: int) -> OccurrenceChange:
    return OccurrenceChange(ChangeKind.MOVE, to_ms)


def hand(schedule: Schedule | None = HOURLY, *, now_ms: int = NOW_MS, calendar: Calendar | None = None) -> JobInHand:
    calendars = {} if calendar is None else {"off": calendar}
    return in_hand(a_job(definition=a_definition(schedule)), now_ms=now_ms, calendars=calendars)


def changed(schedule: Schedule, at_ms: int, change: OccurrenceChange, *, now_ms: int = NOW_MS) -> Schedule:
    return change_occurrence(hand(schedule, now_ms=now_ms), at_ms, change)


def fires(schedule: Schedule, count: int = 3) -> list[int]:
    """Minutes from now at which it fires."""
    times, found, at_ms = compiled(schedule, {}), [], NOW_MS
    for _ in range(count):
        next_ms = times.next_fire_after(at_ms)
        if next_ms is None:
            break
        found.append((next_ms - NOW_MS) // MINUTE_MS)
        at_ms = next_ms
    return found


def test_left_out() -> None:
    assert fires(changed(HOURLY, NEXT_MS, SKIP)) == [120, 180, 240]


def test_moved_later_and_earlier() -> None:
    assert fires(changed(HOURLY, NEXT_MS, move(NEXT_MS + MINUTE_MS))) == [61, 120, 180]
    assert fires(changed(HOURLY, NEXT_MS, move(NEXT_MS - MINUTE_MS))) == [59, 120, 180]


@pytest.mark.parametrize("change", [SKIP, move(NEXT_MS + MINUTE_MS)])
def test_put_back(change: OccurrenceChange) -> None:
    once = changed(HOURLY, NEXT_MS, change)
    assert changed(once, NEXT_MS, RESTORE) == HOURLY


def test_a_moved_one_is_known_by_both_of_its_times() -> None:
    moved_ms = NEXT_MS + MINUTE_MS
    moved = changed(HOURLY, NEXT_MS, move(moved_ms))
    assert changed(moved, moved_ms, RESTORE) == HOURLY
    assert fires(changed(moved, moved_ms, SKIP)) == [120, 180, 240]
    again = changed(moved, moved_ms, move(moved_ms + MINUTE_MS))
    assert again.changed == (ChangedOccurrence(NEXT_MS, moved_ms + MINUTE_MS),)


def test_a_moved_one_may_go_back_to_its_own_time() -> None:
    moved = changed(HOURLY, NEXT_MS, move(NEXT_MS + MINUTE_MS))
    assert fires(changed(moved, NEXT_MS, move(NEXT_MS))) == [60, 120, 180]


def test_left_out_and_then_moved() -> None:
    left_out = changed(HOURLY, NEXT_MS, SKIP)
    assert fires(changed(left_out, NEXT_MS, move(NEXT_MS + MINUTE_MS))) == [61, 120, 180]


def test_the_place_of_one_left_out_is_free() -> None:
    left_out = changed(HOURLY, NEXT_MS + HOUR_MS, SKIP)
    assert fires(changed(left_out, NEXT_MS, move(NEXT_MS + HOUR_MS))) == [120, 180, 240]


def test_the_only_one() -> None:
    assert fires(changed(At(NEXT_MS), NEXT_MS, SKIP)) == []
    assert fires(changed(At(NEXT_MS), NEXT_MS, move(NEXT_MS + MINUTE_MS))) == [61]


@pytest.mark.parametrize("change", [SKIP, move(NEXT_MS), RESTORE])
@pytest.mark.parametrize("at_ms", [NOW_MS, NOW_MS - HOUR_MS])
def test_what_is_past_cannot_be_changed(at_ms: int, change: OccurrenceChange) -> None:
    with pytest.raises(Invalid, match=r"at: .* is past"):
        change_occurrence(hand(), at_ms, change)


def test_what_is_due_in_a_millisecond_can() -> None:
    assert change_occurrence(hand(now_ms=NEXT_MS - 1), NEXT_MS, SKIP).changed


def test_where_there_is_none_the_next_one_is_told() -> None:
    with pytest.raises(
        Invalid, match=r"no occurrence at 2026-01-01T01:00:01.000Z; the next one is 2026-01-01T01:00:00"
    ):
        change_occurrence(hand(), NEXT_MS + 1_000, SKIP)
    with pytest.raises(Invalid, match="none comes any more"):
        change_occurrence(hand(At(NOW_MS)), NEXT_MS, SKIP)


def test_one_that_is_not_changed_cannot_be_put_back() -> None:
    with pytest.raises(Invalid, match="is not changed"):
        change_occurrence(hand(), NEXT_MS, RESTORE)


def test_it_cannot_move_to_the_past_or_onto_another() -> None:
    with pytest.raises(Invalid, match=r"to: .* is past"):
        change_occurrence(hand(), NEXT_MS, move(NOW_MS))
    with pytest.raises(Invalid, match=r"to: the job has an occurrence at .* already"):
        change_occurrence(hand(), NEXT_MS, move(NEXT_MS + HOUR_MS))
    moved = changed(HOURLY, NEXT_MS, move(NEXT_MS + MINUTE_MS))
    with pytest.raises(Invalid, match="already"):
        changed(moved, NEXT_MS + HOUR_MS, move(NEXT_MS + MINUTE_MS))


def test_one_on_an_excluded_day_does_not_come_and_so_cannot_be_left_out() -> None:
    schedule = msgspec.structs.replace(HOURLY, calendars=("off",))
    every_thursday = Calendar(weekdays=(3,))
    with pytest.raises(Invalid, match="no occurrence"):
        change_occurrence(hand(schedule, calendar=every_thursday), NEXT_MS, SKIP)


def test_something_may_be_moved_onto_an_excluded_day() -> None:
    schedule = msgspec.structs.replace(HOURLY, calendars=("off",))
    friday_ms = NOW_MS + 24 * HOUR_MS
    found = change_occurrence(hand(schedule, calendar=Calendar(weekdays=(3,))), friday_ms, move(NEXT_MS))
    assert compiled(found, {"off": Calendar(weekdays=(3,))}).next_fire_after(NOW_MS) == NEXT_MS


@pytest.mark.parametrize("schedule", [None, After(MINUTE_MS, NEXT_MS)])
def test_schedules_that_do_not_say_beforehand_have_none_to_change(schedule: Schedule | None) -> None:
    with pytest.raises(Conflict):
        change_occurrence(hand(schedule), NEXT_MS, SKIP)


def test_one_that_was_moved_ahead_and_has_run_is_not_run_again() -> None:
    ran_ms = NEXT_MS - 30 * MINUTE_MS
    moved = changed(HOURLY, NEXT_MS, move(ran_ms))
    for change in (RESTORE, move(NEXT_MS + MINUTE_MS)):
        with pytest.raises(Invalid):
            changed(moved, NEXT_MS, change, now_ms=ran_ms + MINUTE_MS)


def test_changes_are_bounded_and_those_long_past_make_room() -> None:
    past = [ChangedOccurrence(NOW_MS - number * HOUR_MS) for number in range(limits.CHANGED_MAX, 0, -1)]
    full = msgspec.structs.replace(HOURLY, changed=tuple(past))
    found = changed(full, NEXT_MS, SKIP).changed
    assert found == (*past[1:], ChangedOccurrence(NEXT_MS))
    coming = tuple(ChangedOccurrence(NOW_MS + number * HOUR_MS) for number in range(2, limits.CHANGED_MAX + 2))
    with pytest.raises(Conflict, match="edit its schedule instead"):
        changed(msgspec.structs.replace(HOURLY, changed=coming), NEXT_MS, SKIP)


@given(st.lists(st.tuples(st.integers(1, 6), st.none() | st.integers(1, 400)), max_size=8))
def test_any_changes_keep_the_count_and_the_order(asked: list[tuple[int, int | None]]) -> None:
    schedule: Schedule = msgspec.structs.replace(HOURLY, end_ms=NOW_MS + 6 * HOUR_MS)
    for hour, minute in asked:
        change = SKIP if minute is None else move(NOW_MS + minute * MINUTE_MS)
        with suppress(Invalid):
            schedule = changed(schedule, NOW_MS + hour * HOUR_MS, change)
    assert [one.at_ms for one in schedule.changed] == sorted({one.at_ms for one in schedule.changed})
    skipped = sum(one.moved_to_ms is None for one in schedule.changed)
    assert len(fires(schedule, 20)) == 6 - skipped
