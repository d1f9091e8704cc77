"""What is told of changes, how far somebody was told, and from where on nothing can appear any more."""

import msgspec
import pytest

from dueline.domain.errors import Invalid
from dueline.domain.events import (
    Event,
    EventFilter,
    EventMark,
    EventType,
    Horizon,
    JobTold,
    Told,
    end_type,
    job_type,
    parse_mark,
    parse_step,
    story,
    told_of_change,
)
from dueline.domain.ids import JobId, RunId, new_job_id, new_run_id
from dueline.domain.job import Job
from dueline.domain.planning import Position
from dueline.domain.run import Attempt, Outcome, OutcomeKind, Run
from dueline.domain.states import TERMINAL, JobState, RunKind, RunState
from tests.support.stores import START_MS, TENANT, a_definition

JOB_ID = new_job_id(START_MS, bytes(10))
OTHER_JOB = new_job_id(START_MS + 1, bytes(10))
RUN_ID = new_run_id(START_MS, bytes(10))


def a_job(state: JobState = JobState.ACTIVE, version: int = 1) -> Job:
    return Job(
        id=JOB_ID,
        tenant=TENANT,
        state=state,
        version=version,
        definition=a_definition(),
        position=Position(),
        pause_note=None,
        created_ms=START_MS,
        updated_ms=START_MS,
        since_ms=START_MS,
    )


def a_run(state: RunState, *, attempts: tuple[Attempt, ...] = (), job_id: JobId | None = JOB_ID) -> Run:
    live = state not in TERMINAL
    return Run(
        id=RUN_ID,
        job_id=job_id,
        version=1,
        tenant=TENANT,
        kind=RunKind.MANUAL,
        state=state,
        queue="default",
        priority=5,
        tags=(),
        scheduled_ms=START_MS,
        due_ms=START_MS,
        created_ms=START_MS,
        claimed_ms=START_MS + 1 if state is RunState.RUNNING else None,
        started_ms=None,
        finished_ms=None if live else START_MS + 90,
        attempt=len(attempts),
        lost=0,
        worker="w1" if state is RunState.RUNNING else None,
        reason=None,
        parent_id=None,
        attempts=attempts,
    )


def an_attempt(number: int, kind: OutcomeKind = OutcomeKind.REFUSED) -> Attempt:
    at_ms = START_MS + 10 * number
    return Attempt(
        attempt=number,
        token=number,
        worker=f"w{number}",
        claimed_ms=at_ms,
        started_ms=at_ms + 1,
        finished_ms=at_ms + 5,
        outcome=Outcome(kind=kind),
    )


def told(run: Run, *, after: int = 0) -> list[tuple[str | None, str]]:
    return [(event.id, event.type.value) for event in story(run, after=after)]


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_every_end_of_a_run_has_an_event(state: RunState) -> None:
    assert end_type(state) == f"run.{state}"


@pytest.mark.parametrize("change", sorted(set(Told) - {Told.ENDED}))
def test_every_change_of_a_job_has_an_event(change: Told) -> None:
    assert job_type(change) == f"job.{change}"


@pytest.mark.parametrize(
    ("after", "deleted", "expected"),
    [
        (a_job(), True, Told.DELETED),
        (a_job(version=2), False, Told.UPDATED),
        (a_job(JobState.FINISHED, version=2), False, Told.UPDATED),
        (a_job(JobState.PAUSED), False, Told.PAUSED),
        (a_job(JobState.FINISHED), False, Told.FINISHED),
        (a_job(JobState.CANCELLED), False, Told.CANCELLED),
        (a_job(), False, None),
    ],
)
def test_a_change_is_told_by_what_people_notice_of_it(after: Job, deleted: bool, expected: Told | None) -> None:
    assert told_of_change(a_job(), after, deleted=deleted) is expected


def test_a_paused_job_that_is_active_again_was_resumed() -> None:
    assert told_of_change(a_job(JobState.PAUSED), a_job(), deleted=False) is Told.RESUMED


def test_a_mark_is_read_as_it_was_written() -> None:
    for mark in (EventMark(START_MS, 1), EventMark(START_MS, 10**14, 999), EventMark(0, 0)):
        assert parse_mark(mark.text, field="cursor") == mark


@pytest.mark.parametrize("text", ["", "1", "x-1-1", "1-1", "1-1-1-1", "1-1-", "-1-1-1", "1-1-1\n", "1" * 13 + "-1-1"])
def test_what_is_no_mark_is_refused_with_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_mark(text, field="Last-Event-ID")
    assert [field for field, _ in refused.value.problems] == ["Last-Event-ID"]


def test_where_nobody_writes_all_can_be_seen() -> None:
    assert Horizon().saw(7, []) == 7


def test_what_may_be_hidden_is_waited_for() -> None:
    horizon = Horizon()
    assert horizon.saw(7, ["a", "b"]) == 0
    assert horizon.saw(9, ["b", "c"]) == 0
    assert horizon.saw(12, ["c", "d"]) == 7, "all who wrote when 7 was the last are gone"
    assert horizon.saw(14, ["d"]) == 7, "c and d wrote when 12 was the last"
    assert horizon.saw(15, ["e"]) == 12


def test_the_horizon_never_goes_back() -> None:
    horizon = Horizon()
    assert horizon.saw(7, ["a"]) == 0
    assert horizon.saw(9, []) == 9
    assert horizon.saw(9, ["b"]) == 9
    assert horizon.saw(3, []) == 9


def an_event(*, job_id: JobId | None = None, run: Run | None = None) -> Event:
    job = None if job_id is None else JobTold(job_id, "a", JobState.ACTIVE, 1)
    kind = EventType.RUN_FAILED if run is not None else EventType.JOB_CREATED
    return Event(id=None, type=kind, at_ms=START_MS, job=job, run=run)


@pytest.mark.parametrize(
    ("match", "wanted"),
    [
        ({}, [True, True, True]),
        ({"type": EventType.RUN_FAILED}, [False, True, True]),
        ({"job_id": JOB_ID}, [True, True, False]),
        ({"job_id": OTHER_JOB}, [False, False, False]),
        ({"run_id": RUN_ID}, [False, True, True]),
        ({"run_id": RunId(bytes(16))}, [False, False, False]),
        ({"job_id": JOB_ID, "type": EventType.JOB_CREATED}, [True, False, False]),
        ({"job_id": OTHER_JOB, "run_id": RUN_ID}, [False, False, False]),
    ],
)
def test_filters_let_through_what_fits_all_of_them(match: dict[str, object], wanted: list[bool]) -> None:
    failed = RunState.FAILED
    events = [
        an_event(job_id=JOB_ID),
        an_event(run=a_run(failed)),
        an_event(run=a_run(failed, job_id=None)),
    ]
    asked = msgspec.convert({"tenant": TENANT}, EventFilter)
    asked = msgspec.structs.replace(asked, **match)
    assert [asked.wants(event) for event in events] == wanted


def test_the_story_of_a_run_from_its_first_step_to_its_last() -> None:
    run = a_run(RunState.SUCCEEDED, attempts=(an_attempt(1), an_attempt(2, OutcomeKind.SUCCEEDED)))
    assert [kind for _, kind in told(run)] == [
        "run.created",
        "attempt.started",
        "attempt.ended",
        "attempt.started",
        "attempt.ended",
        "run.succeeded",
    ]
    at_ms = [event.at_ms - START_MS for event in story(run)]
    assert at_ms == sorted(at_ms) == [0, 11, 15, 21, 25, 90]


def states(run: Run) -> list[tuple[str, int, str | None, bool]]:
    runs = [event.run for event in story(run) if event.run is not None]
    return [(then.state.value, then.attempt, then.worker, then.finished_ms is not None) for then in runs]


def test_what_is_told_of_the_past_is_the_run_as_it_was_then() -> None:
    ended = msgspec.structs.replace(
        a_run(RunState.FAILED, attempts=(an_attempt(1, OutcomeKind.LOST), an_attempt(2), an_attempt(3))),
        finished_ms=START_MS + 35,
        worker="w3",
        reason="refused",
    )
    assert states(ended) == [
        ("ready", 0, None, False),
        ("running", 1, "w1", False),
        ("ready", 1, None, False),
        ("running", 2, "w2", False),
        ("retrying", 2, None, False),
        ("running", 3, "w3", False),
        ("failed", 3, "w3", True),
        ("failed", 3, "w3", True),
    ]
    assert [event.run.reason for event in story(ended) if event.run][:6] == [None] * 6
    cancelled = a_run(RunState.CANCELLED, attempts=(an_attempt(1),))
    assert states(cancelled)[-2:] == [("retrying", 1, None, False), ("cancelled", 1, None, True)]
    later = msgspec.structs.replace(a_run(RunState.SCHEDULED), due_ms=START_MS + 60_000)
    assert states(later) == [("scheduled", 0, None, False)]


def test_a_step_keeps_its_number_while_the_run_goes_on() -> None:
    one, two = an_attempt(1), an_attempt(2)
    lives = [
        a_run(RunState.READY),
        a_run(RunState.RUNNING),
        a_run(RunState.RETRYING, attempts=(one,)),
        a_run(RunState.RUNNING, attempts=(one,)),
        a_run(RunState.FAILED, attempts=(one, two)),
    ]
    after, heard = 0, []
    for run in lives:
        for event in story(run, after=after):
            assert event.id is not None
            assert int(event.id) > after
            after = int(event.id)
            heard.append((event.id, event.type.value))
    assert heard == told(lives[-1])


def test_a_run_that_ends_without_a_record_of_its_attempt_has_an_end_all_the_same() -> None:
    ((last, _),) = told(a_run(RunState.RUNNING), after=1)
    assert last is not None
    assert [kind for _, kind in told(a_run(RunState.CANCELLED), after=int(last))] == ["run.cancelled"]


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "1" * 10])
def test_what_is_no_step_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_step(text, field="cursor")
    assert parse_step("12", field="cursor") == 12
