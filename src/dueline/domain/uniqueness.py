"""Unique runs: which run has a dedupe key, and what becomes of others that ask for it.

A key belongs to one run of a tenant at a time: the last that was written with it. Whether that run is in the way of another is for the
other to say, by the states and the window that it asks with.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import RunId, run_text
from dueline.domain.run import NewRun, seen_state
from dueline.domain.states import LIVE, TERMINAL, RunState

KeyName: TypeAlias = tuple[str, str]
"""A key as it is told from others: its tenant, and its text."""


class OnConflict(StrEnum):
    """What becomes of a run that finds another in its way."""

    REJECT = "reject"
    IGNORE = "ignore"
    """The other stands for both."""
    REPLACE = "replace"
    """It takes the other's place, unless that has started."""
    RESCHEDULE = "reschedule"
    """The other gets its due time and stands for both, unless it has started."""


class UniqueVerdict(StrEnum):
    """What became of a run that asked for a key."""

    WRITTEN = "written"
    REPLACED = "replaced"
    """It was written, and the one before it ended."""
    RESCHEDULED = "rescheduled"
    IGNORED = "ignored"
    REJECTED = "rejected"
    TOO_LATE = "too_late"
    """Rejected, because the other could not be replaced or rescheduled any more."""


REFUSALS = frozenset({UniqueVerdict.REJECTED, UniqueVerdict.TOO_LATE})
WRITES = frozenset({UniqueVerdict.WRITTEN, UniqueVerdict.REPLACED})


class Dedupe(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The key that a run asks for. Runs in other states, or that were written a whole window ago or more, are not in its way."""

    key: str
    window_ms: int | None = None
    states: frozenset[RunState] = LIVE
    on_conflict: OnConflict = OnConflict.REJECT

    @property
    def moves(self) -> bool:
        """Whether it may touch the run in its way."""
        return self.on_conflict in (OnConflict.REPLACE, OnConflict.RESCHEDULE)


class UniqueRun(msgspec.Struct, frozen=True):
    """A run to write, if its key is free; one without a key is written anyway."""

    run: NewRun
    dedupe: Dedupe | None

    @property
    def name(self) -> KeyName | None:
        return None if self.dedupe is None else (self.run.tenant, self.dedupe.key)


class UniqueAnswer(msgspec.Struct, frozen=True, gc=False):
    """The run that stands for the one that was asked for: itself, or the one in its way."""

    run_id: RunId
    verdict: UniqueVerdict

    @property
    def refused(self) -> bool:
        return self.verdict in REFUSALS

    @property
    def written(self) -> bool:
        return self.verdict in WRITES

    @property
    def refusal(self) -> str:
        """Why it was refused, for people."""
        why = ", which has started or ended" if self.verdict is UniqueVerdict.TOO_LATE else ""
        return f"the dedupe key is taken by {run_text(self.run_id)}{why}"


class Holder(msgspec.Struct, frozen=True):
    """The run that has a key, as it stands. Once it has ended it keeps the key until `until_ms`: for the window it was written with."""

    run_id: RunId
    taken_ms: int
    until_ms: int
    state: RunState
    tried: bool
    """Whether an attempt of it has ended, were it one that does not count: a worker that stops breaks off what it has begun."""
    due_ms: int

    def unstarted(self, now_ms: int) -> bool:
        """Whether nothing of it was ever begun; a run that is claimed ahead of its time was not."""
        begun = self.tried or (self.state is RunState.RUNNING and self.due_ms <= now_ms)
        return self.state in LIVE and not begun

    def due_at(self, due_ms: int) -> Holder:
        """The same, unstarted, with another due time."""
        return msgspec.structs.replace(self, state=RunState.SCHEDULED, due_ms=due_ms)


class Settlement(msgspec.Struct, frozen=True):
    """What is to be done for runs that asked for keys: answers in their order, runs to write, to give other due times and to end, in this
    order, and the keys that pass to others."""

    answers: list[UniqueAnswer] = []
    written: list[NewRun] = []
    due_ms: dict[RunId, int] = {}
    ended: list[RunId] = []
    taken: dict[KeyName, UniqueRun] = {}

    @property
    def refused(self) -> bool:
        return any(answer.refused for answer in self.answers)

    @property
    def changes(self) -> bool:
        """Whether anything is to be written: what ends makes room for something."""
        return bool(self.written or self.due_ms)


def states_in_the_way(window_ms: int | None) -> frozenset[RunState]:
    """Those in which a run is in the way of others, unless they say it."""
    return LIVE if window_ms is None else LIVE | {RunState.SUCCEEDED}


def make_dedupe(
    key: str, *, window_ms: int | None, states: Collection[RunState] | None, on_conflict: OnConflict | None
) -> Dedupe:
    """Live runs are in the way, however old; with a window those that were written within it, and those that succeeded too.

    Raises Invalid for ended runs without a window: their keys would have to be kept for ever.
    """
    if states is None:
        states = states_in_the_way(window_ms)
    elif not states:
        raise Invalid(("dedupe_states", "must name at least one state"))
    elif window_ms is None and not TERMINAL.isdisjoint(states):
        raise Invalid(("dedupe_window", f"is needed for states in which runs have ended: {', '.join(sorted(states))}"))
    return Dedupe(key=key, window_ms=window_ms, states=frozenset(states), on_conflict=on_conflict or OnConflict.REJECT)


def decide(dedupe: Dedupe, holder: Holder, *, now_ms: int) -> UniqueVerdict:
    """What becomes of a run that asks for the key of another."""
    if not _in_the_way(dedupe, holder, now_ms):
        return UniqueVerdict.WRITTEN
    match dedupe.on_conflict:
        case OnConflict.REJECT:
            return UniqueVerdict.REJECTED
        case OnConflict.IGNORE:
            return UniqueVerdict.IGNORED
        case _ if not holder.unstarted(now_ms):
            return UniqueVerdict.TOO_LATE
        case OnConflict.REPLACE:
            return UniqueVerdict.REPLACED
        case OnConflict.RESCHEDULE:
            return UniqueVerdict.RESCHEDULED


def settle(asked: Sequence[UniqueRun], holders: Mapping[KeyName, Holder], *, now_ms: int) -> Settlement:
    """Decide for a batch, one after the other: a later run finds what earlier ones of the batch left. `holders` are the runs that have
    keys; a run that has its key already is answered as the first time."""
    settled = Settlement([], [], {}, [], {})
    standing = dict(holders)
    for one in asked:
        settled.answers.append(_settle_one(one, standing, settled, now_ms))
    return settled


def _settle_one(one: UniqueRun, standing: dict[KeyName, Holder], settled: Settlement, now_ms: int) -> UniqueAnswer:
    name, run, dedupe = one.name, one.run, one.dedupe
    if name is None or dedupe is None:
        settled.written.append(run)
        return UniqueAnswer(run.id, UniqueVerdict.WRITTEN)
    holder = standing.get(name)
    if holder is None or holder.run_id == run.id:
        verdict = UniqueVerdict.WRITTEN
    else:
        verdict = decide(dedupe, holder, now_ms=now_ms)
        if verdict is UniqueVerdict.REPLACED:
            settled.ended.append(holder.run_id)
        elif verdict is UniqueVerdict.RESCHEDULED:
            settled.due_ms[holder.run_id] = run.due_ms
            standing[name] = holder.due_at(run.due_ms)
        if verdict not in WRITES:
            return UniqueAnswer(holder.run_id, verdict)
    settled.written.append(run)
    settled.taken[name] = one
    standing[name] = _new_holder(run, dedupe, now_ms)
    return UniqueAnswer(run.id, verdict)


def _in_the_way(dedupe: Dedupe, holder: Holder, now_ms: int) -> bool:
    if seen_state(holder.state, due_ms=holder.due_ms, now_ms=now_ms) not in dedupe.states:
        return False
    if dedupe.window_ms is not None and now_ms >= holder.taken_ms + dedupe.window_ms:
        return False
    return holder.state in LIVE or now_ms < holder.until_ms


def _new_holder(run: NewRun, dedupe: Dedupe, now_ms: int) -> Holder:
    state = RunState.SCHEDULED if run.due_ms > now_ms + limits.AHEAD_MS else RunState.READY
    return Holder(run.id, now_ms, now_ms + (dedupe.window_ms or 0), state, False, run.due_ms)
