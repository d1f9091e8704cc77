"""What is sent to those who asked to be told of the end of a run."""

import msgspec
import pytest

from dueline.domain.ids import run_text
from dueline.domain.job import Execution, HttpTarget, Notify
from dueline.domain.notices import NoticeBody, notice_of
from dueline.domain.run import NewRun, OutcomeKind
from dueline.domain.states import TERMINAL, RunKind, RunState
from tests.domain.test_events import a_run, an_attempt
from tests.support.stores import START_MS

NOW_MS = START_MS + 1_000


def body_of(notice: NewRun) -> NoticeBody:
    assert notice.spec is not None
    target = msgspec.json.decode(notice.spec, type=Execution).target
    assert isinstance(target, HttpTarget)
    assert target.body_bytes is not None
    return msgspec.json.decode(target.body_bytes, type=NoticeBody)


def asking(*on: RunState) -> Execution:
    notify = Notify(url="https://example.com/ended", on=on, headers={"X-A": "b"}, sign=False)
    return Execution(target=HttpTarget(url="http://target/"), notify=notify)


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_the_ends_that_were_asked_for_are_told_and_no_others(state: RunState) -> None:
    others = tuple(TERMINAL - {state})
    assert notice_of(a_run(state), asking(state), job_name="a", now_ms=NOW_MS) is not None
    assert notice_of(a_run(state), asking(*others), job_name="a", now_ms=NOW_MS) is None
    assert notice_of(a_run(state), Execution(target=HttpTarget(url="http://x/")), job_name="a", now_ms=NOW_MS) is None


@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_an_end_that_comes_later_than_was_asked_for_is_told_whatever_it_is(state: RunState) -> None:
    run = a_run(state)
    assert run.finished_ms is not None
    took_ms = run.finished_ms - run.scheduled_ms
    for late_after_ms, told in ((took_ms, False), (took_ms - 1, True)):
        notify = Notify(url="https://example.com/ended", on=(), late_after_ms=late_after_ms)
        execution = Execution(target=HttpTarget(url="http://target/"), notify=notify)
        notice = notice_of(run, execution, job_name="a", now_ms=NOW_MS)
        assert (notice is not None) is told
        assert notice is None or body_of(notice).late


@pytest.mark.parametrize("kind", RunKind)
def test_what_is_made_up_for_is_late_from_when_it_was_asked_for(kind: RunKind) -> None:
    run = a_run(RunState.SUCCEEDED)
    hour_ms = 3_600_000
    run = msgspec.structs.replace(run, kind=kind, scheduled_ms=run.created_ms - hour_ms)
    notify = Notify(url="https://example.com/ended", on=(), late_after_ms=hour_ms)
    notice = notice_of(
        run, Execution(target=HttpTarget(url="http://target/"), notify=notify), job_name="a", now_ms=NOW_MS
    )
    assert (notice is None) is (kind in {RunKind.BACKFILL, RunKind.REDRIVE})


def test_a_run_that_has_not_ended_is_not_told() -> None:
    assert notice_of(a_run(RunState.RUNNING), asking(*TERMINAL), job_name="a", now_ms=NOW_MS) is None


def test_a_notice_is_a_run_that_calls_with_the_outcome() -> None:
    run = a_run(RunState.FAILED, attempts=(an_attempt(1, OutcomeKind.TIMED_OUT),))
    notice = notice_of(run, asking(RunState.FAILED), job_name="nightly", now_ms=NOW_MS)
    assert notice is not None
    assert (notice.parent_id, notice.kind, notice.job_id, notice.due_ms) == (run.id, RunKind.ADHOC, None, NOW_MS)
    assert (notice.queue, notice.priority, notice.notifies) == (run.queue, run.priority, False)
    assert notice.spec is not None
    execution = msgspec.json.decode(notice.spec, type=Execution)
    target = execution.target
    assert isinstance(target, HttpTarget)
    assert (target.url, target.method, target.sign) == ("https://example.com/ended", "POST", False)
    assert target.headers == {"Content-Type": "application/json", "X-A": "b"}
    assert execution.notify is None, "nobody is told of a notice"
    body = body_of(notice)
    assert (body.version, body.type, body.run.id, body.run.state) == (1, "run.failed", run_text(run.id), "failed")
    assert body.at == body.run.finished_at
    assert body.job is not None
    assert (body.job.name, body.job.version) == ("nightly", 1)


def test_the_same_end_makes_the_same_run() -> None:
    run, asked = a_run(RunState.FAILED), asking(RunState.FAILED)
    one, other = (notice_of(run, asked, job_name=None, now_ms=NOW_MS + late) for late in (0, 5_000))
    assert one is not None
    assert other is not None
    assert one.id == other.id != run.id


def test_a_run_without_a_job_is_told_without_one() -> None:
    run = msgspec.structs.replace(a_run(RunState.FAILED, job_id=None), version=None)
    notice = notice_of(run, asking(RunState.FAILED), job_name=None, now_ms=NOW_MS)
    assert notice is not None
    assert notice.spec is not None
    target = msgspec.json.decode(notice.spec, type=Execution).target
    assert isinstance(target, HttpTarget)
    assert msgspec.json.decode(target.body_bytes or b"")["job"] is None
