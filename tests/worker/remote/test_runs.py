"""A run on its way through a server: what arrives is what a worker beside the store would have made of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

import msgspec
import pytest

from dueline.domain.ids import RunId, run_text
from dueline.domain.job import Execution, HttpTarget, TaskTarget, Tls
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.states import RunKind
from dueline.engine.execution.calls import make_call, prepare_call
from dueline.engine.execution.preparing import Prepared, PreparedTask
from dueline.runtime.clock import SystemClock
from dueline.store.shapes import Claim
from dueline.store.sqlite.store import SqliteStore
from dueline.wire.reading import encode
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.flights import Ended
from dueline.worker.remote.runs import RemoteRun, read_run, tell_end
from tests.api.serving import ServedApi
from tests.support.target import KEY_AND_CERTIFICATE
from tests.worker.remote.hiring import NODE, Desk, enqueue

CERTIFICATE = KEY_AND_CERTIFICATE[KEY_AND_CERTIFICATE.index("-----BEGIN CERT") :]
URL = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """One server for all: every run is taken once."""
    folder = tmp_path_factory.mktemp("store")
    with ServedApi(lambda: SqliteStore(folder / "dueline.db", SystemClock())) as api:
        yield api


@pytest.fixture
async def desk(api: ServedApi) -> AsyncIterator[Desk]:
    with closing(Desk(api.url)) as desk:
        await desk.register(NODE, lease_s=8)
        yield desk


async def lease_one(desk: Desk) -> RemoteRun:
    (told,) = await desk.lease(limit=10, holding=None)
    return read_run(told, now_ms=5)


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ({}, HttpTarget(url=URL)),
        ({"method": "GET"}, HttpTarget(url=URL, method="GET")),
        ({"body": {"ä": [1, None]}}, HttpTarget(url=URL, body={"ä": [1, None]})),
        ({"body": "plain: text"}, HttpTarget(url=URL, body="plain: text")),
        ({"body_base64": "AP8="}, HttpTarget(url=URL, body_bytes=b"\x00\xff")),
        ({"headers": {"X-A": "b: c", "x-empty": ""}}, HttpTarget(url=URL, headers={"X-A": "b: c", "x-empty": ""})),
        ({"body": "{{run.id}} {{run.attempt}}"}, HttpTarget(url=URL, body="{{run.id}} {{run.attempt}}")),
        ({"keep_headers": ["x-id"]}, HttpTarget(url=URL, keep_headers=("x-id",))),
        ({"tls": {"verify": False}}, HttpTarget(url=URL, tls=Tls(verify=False))),
        ({"tls": {"ca": CERTIFICATE}}, HttpTarget(url=URL, tls=Tls(ca=CERTIFICATE))),
        ({"connect_timeout": "3s"}, HttpTarget(url=URL, connect_timeout_ms=3_000)),
    ],
)
async def test_a_call_is_the_same_as_from_beside_the_store(
    api: ServedApi, desk: Desk, said: dict[str, Any], target: HttpTarget
) -> None:
    enqueue(api, {"url": URL, **said})
    run = await lease_one(desk)
    beside = make_call(prepare_call(Execution(target=target)), run.claim, run_text(run.claim.run_id), now_ms=0)
    assert run.call == msgspec.structs.replace(beside, headers=beside.header_lines(), run_headers="")


async def test_the_targets_own_idea_of_success_comes_along(api: ServedApi, desk: Desk) -> None:
    (run_id,) = enqueue(api, {"url": URL, "expected_status": [404, "500-503"]}, timeout="7s")
    run = await lease_one(desk)
    assert run_text(run.claim.run_id) == run_id
    assert (run.claim.token, run.claim.attempt, run.call.timeout_ms) == (1, 1, 7_000)
    assert not isinstance(run.prepared, PreparedTask)
    assert run.prepared.expected == ((404, 404), (500, 503))
    assert run.prepared.host == "127.0.0.1:9"


def test_a_task_comes_with_its_arguments_and_its_checkpoint() -> None:
    told = {
        "id": run_text(RunId(bytes(16))),
        "token": 3,
        "job_id": None,
        "tenant": "acme",
        "queue": "default",
        "kind": "adhoc",
        "attempt": 2,
        "scheduled_at": "2026-01-01T00:00:00Z",
        "due_at": "2026-01-01T00:00:01Z",
        "timeout": "PT5S",
        "target": {"type": "task", "task": "mail", "args": {"to": "ä"}},
        "checkpoint": {"line": 7},
    }
    run = read_run(told, now_ms=5)
    assert isinstance(run.call, TaskCall)
    assert (run.call.task, run.call.arguments, run.call.timeout_ms) == ("mail", b'{"to":"\xc3\xa4"}', 5_000)
    assert (run.call.info.checkpoint, run.call.info.attempt, run.call.info.token) == (b'{"line":7}', 2, 3)
    assert run.claim.due_ms - run.claim.scheduled_ms == 1_000


def an_end(outcome: Outcome, prepared: Prepared) -> Ended:
    claim = Claim(RunId(bytes(16)), 4, None, None, "acme", RunKind.ADHOC, 0, 0, 0, 1, 0, False, None)
    return Ended(claim, prepared, outcome, 1.0, 2.0, None)


def test_an_answer_is_told_as_it_stands() -> None:
    outcome = Outcome(
        kind=OutcomeKind.REFUSED, status=503, error="no", result='{"a":1}', retry_after_ms=2_000, headers={"x": "y"}
    )
    end = tell_end(an_end(outcome, prepare_call(Execution(target=HttpTarget(url=URL)))), started_ms=1_500)
    assert (end.run_id, end.letters) == (RunId(bytes(16)), 7)
    assert end.told == {
        "id": run_text(RunId(bytes(16))),
        "token": 4,
        "outcome": "refused",
        "status": 503,
        "error": "no",
        "result": '{"a":1}',
        "retry_after": "PT2S",
        "headers": {"x": "y"},
        "started_at": "1970-01-01T00:00:01.500Z",
    }


def test_the_result_of_a_task_is_told_as_json() -> None:
    work = PreparedTask(Execution(target=TaskTarget(task="mail")), "mail", b"{}", awaited=False)
    end = tell_end(an_end(Outcome(kind=OutcomeKind.SUCCEEDED, result='{"a":1}'), work), started_ms=0)
    assert b'"result":{"a":1}' in encode(end.told)
    assert "retry_after" not in end.told
