"""The desk for workers in any language over HTTP: what they say and hear."""

import json
import socket
import time
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.store.postgres.store import PostgresStore
from tests.api.desking import RUN, ApiWorker
from tests.api.serving import ServedApi
from tests.support.keys import ADMIN_KEY

ANSWER_S_MAX = 10.0
NUL = "\0"

_numbers = count(1)


@pytest.fixture
def worker(api: ServedApi) -> ApiWorker:
    return ApiWorker(api, f"q{next(_numbers)}")


def until_waiting(api: ServedApi) -> None:
    deadline = time.monotonic() + ANSWER_S_MAX
    while not api.waiting:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_worker_is_registered_with_all_that_it_says(own_api: ServedApi) -> None:
    plain = own_api.call("POST", "/v1/worker/register")
    assert plain.status == 201
    assert (plain.json["lease"], plain.json["beat"]) == ("PT8S", "PT2S")
    worker = ApiWorker(
        own_api,
        "mail",
        host="far",
        pid=7,
        version="go 1.2",
        labels=["gpu"],
        slots=3,
        takes=["http", "task"],
        tasks=[{"name": "send", "queue": "mail", "description": "Sends.", "parameters": {"type": "object"}}],
    )
    seen = own_api.call("GET", f"/v1/workers/{worker.id}").json
    assert (seen["role"], seen["host"], seen["pid"], seen["version"]) == ("worker", "far", 7, "go 1.2")
    assert (seen["queues"], seen["labels"], seen["slots"]) == (["mail"], ["gpu", "http", "task"], 3)
    seen = own_api.call("GET", f"/v1/workers/{plain.json['id']}").json
    assert (seen["queues"], seen["labels"], seen["slots"], seen["state"]) == ([], ["task"], 1, "alive")
    assert own_api.call("DELETE", f"/v1/worker/{worker.id}").status == 204
    assert own_api.call("GET", f"/v1/workers/{worker.id}").status == 404


def test_a_heartbeat_tells_and_hears(worker: ApiWorker) -> None:
    told = worker.told("heartbeat", {"busy": 2, "rates": {"mail": 1.5}})
    assert (told["drain"], told["cancels"]) == (False, [])
    assert told["now"].endswith("Z")
    assert worker.api.call("GET", f"/v1/workers/{worker.id}").json["busy"] == 2
    run = worker.leased()
    worker.api.call("POST", f"/v1/runs/{run['id']}/cancel")
    worker.api.call("POST", f"/v1/workers/{worker.id}/drain")
    told = worker.told("heartbeat")
    assert told["drain"] is True
    assert told["cancels"] == [{"id": run["id"], "token": run["token"], "reason": "requested"}]
    worker.enqueue()
    assert worker.told("lease") == {"runs": []}
    worker.report(run, outcome="cancelled")
    assert worker.run(run)["state"] == "cancelled"


def test_a_worker_with_many_queues_may_beat(worker: ApiWorker) -> None:
    rates = {f"queue-{number}": float(number) for number in range(500)}
    worker.told("heartbeat", {"rates": rates})


def test_a_task_comes_with_all_that_there_is_to_know(worker: ApiWorker) -> None:
    job = worker.api.create(queue=worker.queue, target={"type": "task", "task": "add", "args": {"a": [1, None]}})
    run_id = worker.api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    (run,) = worker.told("lease", {"limit": 500, "wait": "PT30S"})["runs"]
    assert run["target"] == {"type": "task", "task": "add", "args": {"a": [1, None]}}
    assert (run["id"], run["job_id"], run["kind"], run["attempt"]) == (run_id, job["id"], "manual", 1)
    assert (run["tenant"], run["queue"], run["timeout"]) == ("default", worker.queue, "PT30S")
    assert run["due_at"] == run["scheduled_at"]
    assert run["checkpoint"] is None
    assert run["token"] > 0


def test_an_http_call_comes_as_the_request_to_send(api: ServedApi) -> None:
    worker = ApiWorker(api, "calls", takes=["http"])
    target = {"url": "http://t/{{run.kind}}", "body": {"id": "{{run.id}}"}, "headers": {"X-A": "b"}}
    reply = api.call("POST", "/v1/runs", {"queue": "calls", "target": target | {"expected_status": [404]}})
    (run,) = worker.told("lease")["runs"]
    sent = run["target"]
    assert (sent["type"], sent["method"], sent["url"]) == ("http", "POST", "http://t/adhoc")
    assert json.loads(b64decode(sent["body_base64"])) == {"id": reply.json["id"]}
    assert (sent["headers"]["X-A"], sent["headers"]["Idempotency-Key"]) == ("b", reply.json["id"])
    assert sent["headers"]["Content-Type"] == "application/json"
    worker.report(run, status=404, result="gone fishing", headers={"X-B": "c"})
    seen = worker.run(run)
    assert (seen["state"], seen["status"], seen["result"]) == ("succeeded", 404, "gone fishing")
    assert seen["headers"] == {"x-b": "c"}


def test_results_of_any_shape_are_kept(worker: ApiWorker) -> None:
    for result, kept in [
        ({"a": 1}, '{"a":1}'),
        ("text", '"text"'),
        (0, "0"),
        (False, "false"),
        ([], "[]"),
        (None, None),
        (NUL, '"\\u0000"'),
    ]:
        run = worker.leased()
        assert worker.report(run, outcome="succeeded", result=result) == {"accepted": [run["id"]], "refused": []}
        assert worker.run(run)["result"] == kept


def test_what_is_too_large_or_unfit_is_cut_and_the_result_counts(worker: ApiWorker) -> None:
    run = worker.leased()
    worker.report(run, outcome="succeeded", result="x" * (limits.RESPONSE_KEPT_BYTES + 1))
    kept = json.loads(worker.run(run)["result"])
    assert (kept["too_large"], kept["bytes"]) == (True, limits.RESPONSE_KEPT_BYTES + 3)
    run = worker.leased(retry={"max_attempts": 1})
    worker.report(
        run,
        status=500,
        result="ü" * limits.RESPONSE_KEPT_BYTES,
        error="e" + NUL + "x" * limits.ERROR_LETTERS_MAX,
        headers={"X": NUL + "y" * limits.HEADER_LETTERS_MAX},
    )
    seen = worker.run(run)
    assert seen["result"] == "ü" * (limits.RESPONSE_KEPT_BYTES // 2)
    assert seen["error"].startswith("e\\0xx")
    assert len(seen["error"]) == limits.ERROR_LETTERS_MAX + 1
    assert seen["headers"]["x"].startswith("\\0yy")
    assert len(seen["headers"]["x"]) == limits.RESPONSE_HEADER_LETTERS_MAX + 1


def test_lone_surrogates_are_no_json(worker: ApiWorker) -> None:
    run = worker.leased()
    for text in (b'"\\ud800"', b'"\\ud800x"', b'"\\udc00 and more"'):
        raw = b'{"results":[{"id":"%b","token":%d,"outcome":"errored","error":%b}]}'
        reply = worker.post("report", raw=raw % (run["id"].encode(), run["token"], text))
        assert reply.status == 400, reply.body


def test_a_checkpoint_goes_to_the_next_attempt(worker: ApiWorker) -> None:
    run = worker.leased(retry={"max_attempts": 2, "backoff": "fixed", "base": "0s"})
    told = {"id": run["id"], "token": run["token"], "progress": 1, "note": "n" * 300 + NUL, "checkpoint": {"page": 7}}
    assert worker.told("progress", {"runs": [told]})["accepted"] == [run["id"]]
    worker.report(run, outcome="errored", error="no", retry_after="PT0S")
    # Its time is told by the process's account of the store's clock, which may be some milliseconds ahead.
    worker.api.on_store(lambda store: store.promote(ahead_ms=limits.AHEAD_MS, limit=100))
    (again,) = worker.told("lease", {"wait": "PT10S"})["runs"]
    assert (again["attempt"], again["checkpoint"]) == (2, {"page": 7})
    assert worker.told("progress", {"runs": [told]})["refused"] == [run["id"]]


def test_what_is_put_off_waits_visibly(worker: ApiWorker) -> None:
    run, other = worker.leased(), worker.leased()
    later = {"id": run["id"], "token": run["token"], "delay": "PT1H", "reason": "concurrency"}
    at_once = {"id": other["id"], "token": other["token"]}
    stranger = {"id": RUN, "token": 1}
    told = worker.told("release", {"runs": [later, stranger, at_once]})
    assert told == {"accepted": [run["id"], other["id"]], "refused": [RUN]}
    seen = worker.run(run)
    assert (seen["state"], seen["reason"], seen["attempt"]) == ("scheduled", "concurrency", 0)
    assert worker.told("lease", {"limit": 10})["runs"][0]["id"] == other["id"]


def test_what_it_does_not_know_of_goes_back(worker: ApiWorker) -> None:
    known, lost = worker.leased(), worker.leased()
    asked = {"limit": 10, "holding": [known["id"], RUN]}
    (again,) = worker.told("lease", asked)["runs"]
    assert (again["id"], again["attempt"]) == (lost["id"], 1)
    assert again["token"] > lost["token"]
    assert worker.told("lease", {"limit": 0, "holding": []}) == {"runs": []}
    assert worker.report(known, outcome="succeeded")["refused"] == [known["id"]]


def test_who_is_not_registered_is_told_so(worker: ApiWorker) -> None:
    run = worker.leased()
    buried = ApiWorker(worker.api, "buried")
    worker.api.on_store(lambda store: store.leave(BootId(buried.id)))
    for boot_id in ("nobody", "x" * 300, "ü", buried.id):
        path = f"/v1/worker/{boot_id}".replace("ü", "%C3%BC")
        for reply in (
            worker.api.call("POST", f"{path}/heartbeat"),
            worker.api.call("POST", f"{path}/lease"),
            worker.api.call("DELETE", path),
        ):
            assert (reply.status, reply.json["type"]) == (409, "urn:dueline:problem:lease-lost")
        held = {"id": run["id"], "token": run["token"]}
        for verb, body in (
            ("report", {"results": [{**held, "outcome": "succeeded"}]}),
            ("release", {"runs": [held]}),
            ("progress", {"runs": [held]}),
        ):
            assert worker.api.call("POST", f"{path}/{verb}", body).json == {"accepted": [], "refused": [run["id"]]}
    assert worker.api.call("POST", "/v1/worker/%00/heartbeat").status == 404
    assert worker.run(run)["state"] == "running"


def test_who_is_gone_from_a_long_question_gets_nothing(worker: ApiWorker) -> None:
    """The connection is closed in the middle: the run that comes then goes to the other who waits."""
    other = ApiWorker(worker.api, worker.queue)
    body = b'{"wait":"PT30S"}'
    head = f"POST /v1/worker/{worker.id}/lease HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ADMIN_KEY}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", worker.api.port))
    connection.sendall(head.encode() + body)
    until_waiting(worker.api)
    connection.close()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(other.told, "lease", {"wait": "PT20S"})
        until_waiting(worker.api)
        run_id = worker.enqueue()
        (run,) = waiting.result(ANSWER_S_MAX)["runs"]
    assert (run["id"], run["attempt"]) == (run_id, 1)
    assert worker.api.on_store(lambda store: store.claims_of(BootId(worker.id))) == []


def test_long_questions_end_when_the_server_stops(own_api: ServedApi) -> None:
    worker = ApiWorker(own_api, "q")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(worker.told, "lease", {"wait": "PT30S"})
        until_waiting(own_api)
        since = time.monotonic()
        own_api.stop()
        assert waiting.result(ANSWER_S_MAX) == {"runs": []}
        assert time.monotonic() - since < 3, "requests under way get 5 s, and it did not need them"


@pytest.fixture
def two_apis(postgres_dsn: str) -> Iterator[tuple[ServedApi, ServedApi]]:
    with ServedApi(lambda: PostgresStore(postgres_dsn)) as one, ServedApi(lambda: PostgresStore(postgres_dsn)) as two:
        yield one, two


def test_one_worker_at_two_servers(two_apis: tuple[ServedApi, ServedApi]) -> None:
    here, there = two_apis
    worker = ApiWorker(here, "q")
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(worker.told, "lease", {"wait": "PT20S"}, api=there)
        run_id = worker.enqueue()
        (run,) = waiting.result(ANSWER_S_MAX)["runs"]
    assert run["id"] == run_id
    worker.told("heartbeat", api=there)
    worker.report(run, outcome="succeeded", result=5)
    assert there.call("GET", f"/v1/runs/{run_id}").json["result"] == "5"
    other = worker.leased()
    results = [{"id": other["id"], "token": other["token"], "outcome": "succeeded"}]
    assert worker.told("report", {"results": results}, api=there)["accepted"] == [other["id"]]
