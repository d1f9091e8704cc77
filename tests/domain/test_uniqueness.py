"""Who has a dedupe key, and what becomes of those who ask for it."""

from typing import Any

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import RunId, run_text
from dueline.domain.states import LIVE, TERMINAL, RunState
from dueline.domain.uniqueness import (
    Dedupe,
    Holder,
    OnConflict,
    UniqueAnswer,
    UniqueRun,
    UniqueVerdict,
    decide,
    make_dedupe,
    settle,
)
from tests.support.stores import a_run

NOW_MS = 1_000_000
FIRST = RunId(b"first" + bytes(11))
HOLDER = Holder(FIRST, NOW_MS, NOW_MS, RunState.READY, False, NOW_MS)
MOVES = [OnConflict.REPLACE, OnConflict.RESCHEDULE]


def held_by(**fields: Any) -> Holder:
    return msgspec.structs.replace(HOLDER, **fields)


def asking(on_conflict: OnConflict = OnConflict.REJECT, **fields: Any) -> Dedupe:
    return Dedupe(key="k", on_conflict=on_conflict, **fields)


def is_in_the_way(holder: Holder, *, now_ms: int = NOW_MS, **fields: Any) -> bool:
    return decide(asking(**fields), holder, now_ms=now_ms) is UniqueVerdict.REJECTED


@pytest.mark.parametrize(
    ("on_conflict", "verdict"),
    [
        (OnConflict.REJECT, UniqueVerdict.REJECTED),
        (OnConflict.IGNORE, UniqueVerdict.IGNORED),
        (OnConflict.REPLACE, UniqueVerdict.REPLACED),
        (OnConflict.RESCHEDULE, UniqueVerdict.RESCHEDULED),
    ],
)
def test_a_run_in_the_way_is_dealt_with_as_asked(on_conflict: OnConflict, verdict: UniqueVerdict) -> None:
    assert decide(asking(on_conflict), HOLDER, now_ms=NOW_MS) is verdict
    assert (
        decide(asking(on_conflict, states=frozenset({RunState.HELD})), HOLDER, now_ms=NOW_MS) is UniqueVerdict.WRITTEN
    )


@pytest.mark.parametrize("state", sorted(LIVE))
def test_a_live_run_is_in_the_way_however_old_it_is(state: RunState) -> None:
    holder = held_by(state=state, taken_ms=0, until_ms=0)
    assert is_in_the_way(holder)
    assert not is_in_the_way(holder, states=LIVE - {state})


def test_a_window_ends_at_its_millisecond() -> None:
    assert is_in_the_way(HOLDER, window_ms=500, now_ms=NOW_MS + 499)
    assert not is_in_the_way(HOLDER, window_ms=500, now_ms=NOW_MS + 500)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_ended_run_keeps_its_key_for_the_shorter_of_both_windows(state: RunState) -> None:
    holder, states = held_by(state=state, until_ms=NOW_MS + 500), frozenset({state})
    assert is_in_the_way(holder, states=states, window_ms=1_000, now_ms=NOW_MS + 499)
    assert not is_in_the_way(holder, states=states, window_ms=1_000, now_ms=NOW_MS + 500)
    assert not is_in_the_way(holder, states=states, window_ms=400, now_ms=NOW_MS + 400)
    assert not is_in_the_way(holder, window_ms=1_000)


@pytest.mark.parametrize("state", [RunState.READY, RunState.RUNNING])
def test_until_its_time_has_come_a_run_counts_as_scheduled(state: RunState) -> None:
    holder = held_by(state=state, due_ms=NOW_MS + 1)
    only = frozenset({RunState.SCHEDULED})
    assert is_in_the_way(holder, states=only)
    assert not is_in_the_way(holder, states=only, now_ms=NOW_MS + 1)
    assert is_in_the_way(holder, states=frozenset({state}), now_ms=NOW_MS + 1)


@pytest.mark.parametrize("on_conflict", MOVES)
@pytest.mark.parametrize(
    "fields",
    [
        {"state": RunState.RUNNING},
        {"state": RunState.RUNNING, "tried": True, "due_ms": NOW_MS + 1},
        {"state": RunState.RETRYING, "tried": True},
        {"state": RunState.READY, "tried": True},
        {"state": RunState.HELD, "tried": True},
        {"state": RunState.SUCCEEDED, "tried": True},
        {"state": RunState.CANCELLED},
    ],
)
def test_what_has_started_or_ended_stays_as_it_is(on_conflict: OnConflict, fields: dict[str, Any]) -> None:
    dedupe = asking(on_conflict, states=frozenset(RunState), window_ms=1_000)
    assert decide(dedupe, held_by(until_ms=NOW_MS + 1_000, **fields), now_ms=NOW_MS) is UniqueVerdict.TOO_LATE


@pytest.mark.parametrize("on_conflict", MOVES)
@pytest.mark.parametrize(
    "fields",
    [
        {"state": RunState.SCHEDULED},
        {"state": RunState.HELD},
        {"state": RunState.RUNNING, "due_ms": NOW_MS + 1},
    ],
)
def test_what_has_not_started_can_be_moved(on_conflict: OnConflict, fields: dict[str, Any]) -> None:
    assert decide(asking(on_conflict), held_by(**fields), now_ms=NOW_MS) in {
        UniqueVerdict.REPLACED,
        UniqueVerdict.RESCHEDULED,
    }


def test_the_defaults_depend_on_the_window() -> None:
    assert make_dedupe("k", window_ms=None, states=None, on_conflict=None) == asking(states=LIVE)
    within = make_dedupe("k", window_ms=5, states=None, on_conflict=OnConflict.IGNORE)
    assert within == asking(OnConflict.IGNORE, window_ms=5, states=LIVE | {RunState.SUCCEEDED})


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_ended_states_need_a_window(state: RunState) -> None:
    states = [RunState.READY, state]
    with pytest.raises(Invalid, match="dedupe_window: is needed"):
        make_dedupe("k", window_ms=None, states=states, on_conflict=None)
    assert make_dedupe("k", window_ms=1, states=states, on_conflict=None).states == frozenset(states)


def test_no_states_at_all_are_refused() -> None:
    with pytest.raises(Invalid, match="dedupe_states"):
        make_dedupe("k", window_ms=None, states=[], on_conflict=None)


def test_runs_of_a_batch_find_those_before_them() -> None:
    """Written, replaced, replaced again, given another due time, and rejected by what is left."""
    plain, first, second, third, fourth, fifth = (a_run(due_ms=NOW_MS + 60_000 * number) for number in range(6))
    asked = [
        UniqueRun(plain, None),
        UniqueRun(first, asking()),
        UniqueRun(second, asking(OnConflict.REPLACE)),
        UniqueRun(third, asking(OnConflict.REPLACE)),
        UniqueRun(fourth, asking(OnConflict.RESCHEDULE)),
        UniqueRun(fifth, asking()),
    ]
    settled = settle(asked, {}, now_ms=NOW_MS)
    assert settled.answers == [
        UniqueAnswer(plain.id, UniqueVerdict.WRITTEN),
        UniqueAnswer(first.id, UniqueVerdict.WRITTEN),
        UniqueAnswer(second.id, UniqueVerdict.REPLACED),
        UniqueAnswer(third.id, UniqueVerdict.REPLACED),
        UniqueAnswer(third.id, UniqueVerdict.RESCHEDULED),
        UniqueAnswer(third.id, UniqueVerdict.REJECTED),
    ]
    assert settled.written == [plain, first, second, third]
    assert (settled.ended, settled.due_ms) == ([first.id, second.id], {third.id: fourth.due_ms})
    assert settled.taken == {(third.tenant, "k"): asked[3]}
    assert settled.refused
    assert settled.changes


@pytest.mark.parametrize("on_conflict", OnConflict)
def test_who_is_rejected_or_ignored_changes_nothing(on_conflict: OnConflict) -> None:
    one = UniqueRun(a_run(), asking(on_conflict))
    assert settle([one], {(one.run.tenant, "k"): HOLDER}, now_ms=NOW_MS).changes is (on_conflict in MOVES)


def test_a_rescheduled_run_is_where_it_was_moved_to() -> None:
    later = UniqueRun(a_run(due_ms=NOW_MS + 60_000), asking(OnConflict.RESCHEDULE))
    only_ready = UniqueRun(a_run(), asking(states=frozenset({RunState.READY})))
    settled = settle([later, only_ready], {(later.run.tenant, "k"): HOLDER}, now_ms=NOW_MS)
    assert [answer.verdict for answer in settled.answers] == [UniqueVerdict.RESCHEDULED, UniqueVerdict.WRITTEN]


def test_who_asks_again_with_the_run_that_has_the_key_is_answered_the_same() -> None:
    run = a_run()
    settled = settle([UniqueRun(run, asking())], {(run.tenant, "k"): held_by(run_id=run.id)}, now_ms=NOW_MS)
    assert settled.answers == [UniqueAnswer(run.id, UniqueVerdict.WRITTEN)]


def test_other_keys_and_other_tenants_are_in_nobodys_way() -> None:
    run = a_run()
    holders = {(run.tenant, "other"): HOLDER, ("other", "k"): HOLDER}
    assert settle([UniqueRun(run, asking())], holders, now_ms=NOW_MS).written == [run]


def test_a_refusal_names_the_run_and_says_when_it_was_too_late() -> None:
    taken = f"the dedupe key is taken by {run_text(FIRST)}"
    assert UniqueAnswer(FIRST, UniqueVerdict.REJECTED).refusal == taken
    assert UniqueAnswer(FIRST, UniqueVerdict.TOO_LATE).refusal == f"{taken}, which has started or ended"


def test_no_window_is_longer_than_anything_may_wait() -> None:
    assert limits.DEDUPE_WINDOW_MS_MAX >= limits.EXPIRES_AFTER_MS_MAX
