"""What a change of a job does to its plan and to its runs. The store locks the job, asks here, and writes the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.errors import Conflict, VersionMismatch
from dueline.domain.firetimes import FireTimes, compile_schedule
from dueline.domain.firing import make_runs
from dueline.domain.ids import RunId
from dueline.domain.job import Definition, Job, JobVersion
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Misfire, MisfirePolicy, Plan, Position, plan, position_at
from dueline.domain.run import NewRun
from dueline.domain.schedule import After, At, Schedule
from dueline.domain.states import EndReason, HeldReason, JobState, RunKind, RunState

Calendars = Mapping[str, Calendar]
_NOTHING = Plan((), (), None, None)


class LiveRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a change of a job must know of one of its unstarted runs."""

    id: RunId
    kind: RunKind
    state: RunState
    scheduled_ms: int
    due_ms: int
    begun: bool
    """Whether an attempt of it has ended, were it one that does not count."""
    reason: str | None


class JobInHand(msgspec.Struct, frozen=True, kw_only=True):
    """A job locked for a change, at one moment of the store's clock, with those of its runs that have not started, and the calendars
    that it names.

    A run that is claimed but not yet due counts as not started: it is held by its worker, which asks again before it starts.
    """

    job: Job
    now_ms: int
    runs: tuple[LiveRun, ...]
    calendars: Calendars = {}


class JobChange(msgspec.Struct, frozen=True, kw_only=True):
    """The change to make, decided from a JobInHand. Runs not named stay as they are."""

    state: JobState
    definition: Definition
    position: Position
    pause_note: str | None = None
    deleted: bool = False
    unplan: tuple[RunId, ...] = ()
    """Runs whose time has not come: they vanish, their occurrences are planned again."""
    hold: tuple[RunId, ...] = ()
    free: tuple[RunId, ...] = ()
    cancel: tuple[tuple[RunId, str], ...] = ()
    """Runs to end as cancelled, each with its reason."""
    stop: str | None = None
    """Why runs under way are asked to end; None: they end by themselves."""
    runs: tuple[NewRun, ...] = ()
    """Runs to write: what was due by the schedule that goes. The store puts their tokens into the new generation."""
    unfired: tuple[Unfired, ...] = ()
    """What is told of occurrences that became no runs, all of the version before the change."""
    stale: bool = False
    """Whether the position must be looked at again: a calendar may have changed while this was decided."""


DecideChange = Callable[[JobInHand], JobChange]


def compiled(schedule: Schedule, calendars: Calendars) -> FireTimes:
    """The instants of a schedule with its calendars; one that is not there any more excludes nothing."""
    if not schedule.calendars:
        return compile_schedule(schedule)
    return compile_schedule(schedule, tuple(calendars[name] for name in schedule.calendars if name in calendars))


def first_position(schedule: Schedule | None, calendars: Calendars, *, now_ms: int) -> Position:
    """Where a new schedule stands. A one-time job whose instant has just passed runs at once."""
    if schedule is None:
        return Position()
    times = compiled(schedule, calendars)
    after_ms = now_ms
    if isinstance(schedule, At):
        after_ms = min(schedule.at_ms - 1, now_ms)
    elif isinstance(schedule, After) and schedule.first_ms <= now_ms:
        # It may have run then; an occurrence has one run, so this is another one.
        return Position(next_ms=now_ms, due_ms=now_ms, runs_left=schedule.max_runs)
    return position_at(times, times.next_after(after_ms), runs_left=schedule.max_runs)


def ever_fires(schedule: Schedule, calendars: Calendars, position: Position) -> bool:
    """Whether anything of a schedule that stands there is to fire."""
    if position.next_ms is None:
        return False
    times = compiled(schedule, calendars)
    return not times.marked or times.next_fire_after(position.next_ms - 1) is not None


def edit(
    hand: JobInHand,
    definition: Definition,
    *,
    calendars: Calendars | None = None,
    expected_version: int | None = None,
) -> JobChange:
    """Replace the definition. What is due keeps the old version; what is not yet due is planned again by the new one.

    `calendars` are those that the new definition names.
    """
    job = hand.job
    check_version(job, expected_version)
    check_open(job.state)
    state, position = state_of(hand), _undecided(hand)
    decided = _NOTHING
    unfired: tuple[Unfired, ...] = ()
    old, new = job.definition.schedule, definition.schedule
    if isinstance(new, After) and isinstance(old, After):
        position = _another_delay(position, old, new, now_ms=hand.now_ms)
    elif new != old:
        # A new schedule begins now; what was due by the old one before now is decided by the old one, here.
        if state is JobState.PAUSED:
            unfired = given_up(hand, SkipReason.REPLACED)
        else:
            decided = _decide_due(hand)
            unfired = decided.unfired
        position = _replaced_position(hand, new, calendars or {}, position, fired=decided.runs)
    if state in (JobState.ACTIVE, JobState.FINISHED):
        state = JobState.FINISHED if new is not None and _exhausted(position) else JobState.ACTIVE
    return JobChange(
        state=state,
        definition=definition,
        position=position,
        pause_note=job.pause_note,
        unplan=ids_of(planned_ahead(hand)),
        runs=_runs(hand, decided),
        unfired=unfired,
        stale=new is not None and (bool(new.calendars) or new.timezone != "UTC"),
    )


def pause(hand: JobInHand, *, note: str | None) -> JobChange:
    """Stop planning and starting. Runs under way end by themselves; runs that wait are held. Without a note the one that is there stays."""
    job = hand.job
    check_open(job.state)
    if state_of(hand) not in (JobState.ACTIVE, JobState.PAUSED):
        raise Conflict(f"a {job.state} job cannot be paused")
    planned = planned_ahead(hand)
    waiting = [run for run in hand.runs if run not in planned and run.reason != HeldReason.PAUSED]
    return JobChange(
        state=JobState.PAUSED,
        definition=job.definition,
        position=_undecided(hand),
        pause_note=job.pause_note if note is None else note,
        unplan=ids_of(planned),
        hold=ids_of(waiting),
    )


def resume(hand: JobInHand) -> JobChange:
    """Go on. What was held or missed meanwhile follows the misfire policy, and is decided here."""
    job = hand.job
    check_open(job.state)
    if job.state not in (JobState.ACTIVE, JobState.PAUSED):
        raise Conflict(f"a {job.state} job cannot be resumed")
    held = [run for run in hand.runs if run.state is RunState.HELD and run.reason == HeldReason.PAUSED]
    was_paused = job.state is JobState.PAUSED
    decided = _decide_due(hand, because=SkipReason.PAUSED) if was_paused else _NOTHING
    dropped = _dropped_on_resume(hand, held, caught_up=len(decided.missed_ms))
    position = _moved_on(hand, decided) if was_paused else job.position
    exhausted = job.definition.schedule is not None and _exhausted(position)
    return JobChange(
        state=JobState.FINISHED if exhausted else JobState.ACTIVE,
        definition=job.definition,
        position=position,
        free=tuple(run.id for run in held if run.id not in dropped),
        cancel=tuple(dropped.items()),
        runs=_runs(hand, decided),
        unfired=decided.unfired,
    )


def recover(hand: JobInHand, misfire: Misfire, missed_due_ms: Callable[[int], int]) -> JobChange:
    """Decide what is overdue by another misfire policy than the job's own; what is caught up starts at the times given."""
    job = hand.job
    unchanged = JobChange(state=job.state, definition=job.definition, position=job.position, pause_note=job.pause_note)
    if job.state is not JobState.ACTIVE:
        return unchanged
    decided = _decide_due(hand, misfire=misfire, because=SkipReason.RECOVERY)
    if decided is _NOTHING:
        return unchanged
    position = _moved_on(hand, decided)
    return msgspec.structs.replace(
        unchanged,
        state=JobState.FINISHED if _exhausted(position) else JobState.ACTIVE,
        position=position,
        runs=_runs(hand, decided, missed_due_ms),
        unfired=decided.unfired,
    )


def replan(hand: JobInHand) -> JobChange:
    """Look again at what comes next: the rules of a zone or a calendar have changed. What is past stays as it was decided."""
    job, schedule, position = hand.job, hand.job.definition.schedule, hand.job.position
    unchanged = JobChange(state=job.state, definition=job.definition, position=position, pause_note=job.pause_note)
    if schedule is None or position.next_ms is None or isinstance(schedule, After) or job.state is JobState.PAUSED:
        return unchanged
    if position.due_ms is not None and position.due_ms <= hand.now_ms:
        # The scheduler is about to decide it, by the new rules.
        return unchanged
    times = compiled(schedule, hand.calendars)
    decided_ms = max([hand.now_ms, *(run.scheduled_ms for run in planned_ahead(hand))])
    moved = position_at(times, times.next_after(decided_ms), runs_left=position.runs_left)
    unfired: tuple[Unfired, ...] = ()
    if position.next_ms <= hand.now_ms:
        unfired = (Unfired(position.next_ms, hand.now_ms, Verdict.SKIPPED, SkipReason.CALENDAR),)
    state = JobState.FINISHED if _exhausted(moved) else job.state
    return msgspec.structs.replace(unchanged, state=state, position=moved, unfired=unfired)


def changed_job(hand: JobInHand, change: JobChange) -> Job:
    """The job after the change. Another definition is a new version; a paused job has nothing to act on."""
    job = hand.job
    is_new = change.definition != job.definition
    position = change.position
    if change.state is JobState.PAUSED:
        position = msgspec.structs.replace(position, due_ms=None)
    return msgspec.structs.replace(
        job,
        state=change.state,
        version=job.version + is_new,
        definition=change.definition,
        position=position,
        pause_note=change.pause_note,
        updated_ms=hand.now_ms,
        since_ms=hand.now_ms if is_new else job.since_ms,
    )


def check_version(job: Job, expected_version: int | None) -> None:
    if expected_version is not None and expected_version != job.version:
        raise VersionMismatch(expected=expected_version, actual=job.version)


def check_open(state: JobState) -> None:
    """Refuse what nobody can do to a job that was cancelled."""
    if state is JobState.CANCELLED:
        raise Conflict("a cancelled job stays as it is: it can be neither run nor changed, only deleted")


def state_of(hand: JobInHand) -> JobState:
    """The job's state, once the runs planned ahead are taken back: a schedule that is exhausted by them is not."""
    return JobState.ACTIVE if hand.job.state is JobState.FINISHED and planned_ahead(hand) else hand.job.state


def planned_ahead(hand: JobInHand) -> list[LiveRun]:
    """Runs written ahead of their time: plans still, not yet history."""
    return [run for run in hand.runs if run.kind is RunKind.SCHEDULED and run.scheduled_ms > hand.now_ms]


def _undecided(hand: JobInHand) -> Position:
    """Where the schedule stands, once the runs planned ahead are taken back."""
    position, planned = hand.job.position, planned_ahead(hand)
    schedule = hand.job.definition.schedule
    if schedule is None:
        return Position()
    undecided = [run.scheduled_ms for run in planned]
    if position.next_ms is not None:
        undecided.append(position.next_ms)
    next_ms = min(undecided, default=None)
    runs_left = position.runs_left
    if schedule.max_runs is not None and planned:
        runs_left = (runs_left or 0) + len(planned)
    awaiting = None if any(run.id == position.awaiting for run in planned) else position.awaiting
    if isinstance(schedule, After):
        return Position(next_ms=next_ms, due_ms=next_ms, awaiting=awaiting, runs_left=runs_left)
    return position_at(compiled(schedule, hand.calendars), next_ms, runs_left=runs_left)


def _exhausted(position: Position) -> bool:
    return position.next_ms is None and position.awaiting is None


def _another_delay(position: Position, old: After, new: After, *, now_ms: int) -> Position:
    """Where a job stands whose delay or limit changes: the last run counts, whatever they are now. One not begun begins anew."""
    if _exhausted(position) or (position.next_ms == old.first_ms > now_ms):
        return first_position(new, {}, now_ms=now_ms) if new != old else position
    return position if new.max_runs == old.max_runs else msgspec.structs.replace(position, runs_left=new.max_runs)


def _replaced_position(
    hand: JobInHand, schedule: Schedule | None, calendars: Calendars, position: Position, *, fired: int
) -> Position:
    """Where a job stands that gets another schedule. The count of its runs goes on while its limit stays the same."""
    old = hand.job.definition.schedule
    begun = first_position(schedule, calendars, now_ms=hand.now_ms)
    if schedule is None or old is None or schedule.max_runs != old.max_runs or position.runs_left is None:
        return begun
    left = max(position.runs_left - fired, 0)
    return msgspec.structs.replace(begun, runs_left=left) if left else Position()


def _decide_due(hand: JobInHand, *, misfire: Misfire | None = None, because: SkipReason | None = None) -> Plan:
    """What becomes of occurrences that are due and that the scheduler has not come to yet."""
    job, schedule = hand.job, hand.job.definition.schedule
    next_ms = job.position.next_ms
    if schedule is None or next_ms is None or next_ms > hand.now_ms:
        return _NOTHING
    return plan(
        compiled(schedule, hand.calendars),
        misfire or job.definition.misfire,
        next_ms=next_ms,
        now_ms=hand.now_ms,
        until_ms=hand.now_ms,
        runs_left=job.position.runs_left,
        because=because,
    )


def _moved_on(hand: JobInHand, decided: Plan) -> Position:
    """Where a job stands that goes on, once what was due is decided."""
    job, schedule = hand.job, hand.job.definition.schedule
    position = job.position
    if schedule is None or position.next_ms is None:
        return position
    times = compiled(schedule, hand.calendars)
    next_ms = decided.next_ms
    if decided is _NOTHING:
        # The rules of the zone and the calendars may have changed since it was paused; nothing after now is decided.
        next_ms = position.next_ms if times.single else times.next_after(hand.now_ms)
    runs_left = None if position.runs_left is None else position.runs_left - decided.runs
    if times.follows and decided.runs and runs_left != 0:
        (run,) = _runs(hand, decided)
        return Position(awaiting=run.id, runs_left=runs_left)
    return position_at(times, next_ms, runs_left=runs_left)


def given_up(hand: JobInHand, reason: SkipReason) -> tuple[Unfired, ...]:
    """What is due and will never be decided by its schedule."""
    schedule, next_ms = hand.job.definition.schedule, hand.job.position.next_ms
    if schedule is None or next_ms is None or next_ms > hand.now_ms:
        return ()
    return (Unfired(next_ms, hand.now_ms, Verdict.SKIPPED, reason),)


def _runs(hand: JobInHand, decided: Plan, missed_due_ms: Callable[[int], int] | None = None) -> tuple[NewRun, ...]:
    job, schedule = hand.job, hand.job.definition.schedule
    if schedule is None or not decided.runs:
        return ()
    version = JobVersion(job.id, job.version, job.tenant, job.definition)
    times = compiled(schedule, hand.calendars)
    return make_runs(version, times, decided, now_ms=hand.now_ms, token=0, missed_due_ms=missed_due_ms)


def _dropped_on_resume(hand: JobInHand, held: list[LiveRun], *, caught_up: int) -> dict[RunId, str]:
    """Held runs that the misfire policy does not start any more, each with its reason. `caught_up` later ones run already."""
    job, misfire = hand.job, hand.job.definition.misfire
    if isinstance(job.definition.schedule, At | After):
        return {}
    missed_before_ms = hand.now_ms - limits.MISFIRE_GRACE_MS
    missed = [
        run for run in held if run.kind is RunKind.SCHEDULED and not run.begun and run.scheduled_ms < missed_before_ms
    ]
    kept = [run for run in missed if run.scheduled_ms >= hand.now_ms - misfire.window_ms]
    reason = EndReason.MISFIRE
    if misfire.policy is MisfirePolicy.SKIP:
        kept = []
    elif misfire.policy is MisfirePolicy.FIRE_ALL:
        kept = kept[max(len(kept) + caught_up - misfire.cap, 0) :]
    else:
        kept = [] if caught_up else kept[-1:]
        if kept or caught_up:
            reason = EndReason.COALESCED
    return {run.id: reason for run in missed if run not in kept}


def ids_of(runs: list[LiveRun]) -> tuple[RunId, ...]:
    return tuple(run.id for run in runs)
