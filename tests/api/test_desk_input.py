"""Every bad input at the desk is answered with its field and a reason; what stands exactly at the edge is taken."""

from itertools import count
from typing import Any

import pytest

from dueline.domain import limits
from tests.api.desking import RUN, ApiWorker
from tests.api.serving import ServedApi

NUL = "\0"
HELD = {"id": RUN, "token": 1}

_numbers = count(1)


@pytest.fixture
def worker(api: ServedApi) -> ApiWorker:
    return ApiWorker(api, f"q{next(_numbers)}")


def runs(number: int, **fields: Any) -> list[dict[str, Any]]:
    """So many different runs, none of which is there."""
    return [{"id": f"run_{index:026d}", "token": 1, **fields} for index in range(number)]


def result(**fields: Any) -> dict[str, Any]:
    return {"results": [{**HELD, "outcome": "succeeded", **fields}]}


def one(**fields: Any) -> dict[str, Any]:
    return {"runs": [{**HELD, **fields}]}


def offer(**fields: Any) -> dict[str, Any]:
    return {"tasks": [{"name": "t", **fields}]}


REGISTER: list[tuple[Any, str, str]] = [
    ([], "body", "JSON object"),
    ({"hots": "x"}, "hots", "did you mean host?"),
    ({"host": "h" * 201}, "host", "at most 200"),
    ({"host": NUL}, "host", "control"),
    ({"version": "\n"}, "version", "control"),
    ({"pid": -1}, "pid", "between 0"),
    ({"pid": 2**31}, "pid", "between 0"),
    ({"pid": "7"}, "pid", "whole number"),
    ({"slots": 0}, "slots", "between 1"),
    ({"slots": 1_000_001}, "slots", "between 1"),
    ({"queues": ["a", "a"]}, "queues[1]", "given twice"),
    ({"queues": ["a b"]}, "queues[0]", "letters"),
    ({"queues": [f"q{number}" for number in range(65)]}, "queues", "at most 64"),
    ({"labels": ["task"]}, "labels", "gives itself"),
    ({"labels": ["http"]}, "labels", "gives itself"),
    ({"labels": ["a,b"]}, "labels[0]", "letters"),
    ({"labels": [f"l{number}" for number in range(17)]}, "labels", "at most 16"),
    ({"takes": []}, "takes", "must name task or http"),
    ({"takes": ["mail"]}, "takes[0]", "task or http"),
    ({"tasks": [{}]}, "tasks[0].name", "required"),
    ({"tasks": [{"name": "a"}, {"name": "a"}]}, "tasks[1].name", "given twice"),
    ({"tasks": [{"name": f"t{number}"} for number in range(1_001)]}, "tasks", "between 0 and 1000"),
    (offer(name=""), "tasks[0].name", "1 to 200"),
    (offer(name="n" * 201), "tasks[0].name", "1 to 200"),
    (offer(name=NUL), "tasks[0].name", "control"),
    (offer(queue=""), "tasks[0].queue", "letters"),
    (offer(retries=3), "tasks[0].retries", "unknown field"),
    (offer(description="d" * 1_001), "tasks[0].description", "at most 1000"),
    (offer(description=NUL), "tasks[0].description", "NUL"),
    (offer(parameters=[]), "tasks[0].parameters", "an object"),
    (offer(parameters={"a": NUL}), "tasks[0].parameters", "NUL"),
    (offer(parameters={"a": "x" * limits.PAYLOAD_BYTES_MAX}), "tasks[0].parameters", "may be 65536"),
]

HEARTBEAT: list[tuple[Any, str, str]] = [
    ({"busy": -1}, "busy", "between 0"),
    ({"busy": 1_000_001}, "busy", "between 0"),
    ({"busy": 0.5}, "busy", "whole number"),
    ({"rates": {"a b": 1.0}}, "rates.a b", "letters"),
    ({"rates": {NUL: 1.0}}, "rates.?", "letters"),
    ({"rates": {"a": -0.1}}, "rates.a", "between 0"),
    ({"rates": {"a": 1_000_001}}, "rates.a", "between 0"),
    ({"rates": {"a": None}}, "rates.a", "a number"),
    ({"bussy": 1}, "bussy", "did you mean busy?"),
]

LEASE: list[tuple[Any, str, str]] = [
    ({"limit": -1}, "limit", "between 0 and 1000"),
    ({"limit": 1001}, "limit", "between 0 and 1000"),
    ({"limit": True}, "limit", "whole number"),
    ({"wait": "PT30.001S"}, "wait", "between PT0S and PT30S"),
    ({"wait": "-1s"}, "wait", "not a duration"),
    ({"wait": "soon"}, "wait", "not a duration"),
    ({"wait": 5}, "wait", "text"),
    ({"holding": RUN}, "holding", "a list"),
    ({"holding": [RUN, "job_1"]}, "holding[1]", "not the id of a run"),
    ({"holding": [NUL]}, "holding[0]", "not the id of a run"),
    ({"holding": [RUN] * 100_001}, "holding", "between 0 and 100000"),
    ({"wiat": "1s"}, "wiat", "did you mean wait?"),
]

REPORT: list[tuple[Any, str, str]] = [
    ({}, "results", "required"),
    ({"results": []}, "results", "between 1 and 1000"),
    ({"results": runs(1_001, outcome="succeeded")}, "results", "between 1 and 1000"),
    ({"results": [{**HELD, "outcome": "lost"}] * 2}, "results[1].id", "given twice"),
    ({"results": [{"outcome": "lost"}]}, "results[0].id", "required"),
    ({"results": [{"outcome": "lost"}]}, "results[0].token", "required"),
    ({"results": [{"id": "run_1", "token": 1, "outcome": "lost"}]}, "results[0].id", "not the id of a run"),
    ({"results": [HELD]}, "results[0].outcome", "required where there is no status"),
    (result(outcome="done"), "results[0].outcome", "must be succeeded or"),
    (result(token="1"), "results[0].token", "whole number"),
    (result(status=99), "results[0].status", "between 100 and 999"),
    (result(status=1000), "results[0].status", "between 100 and 999"),
    (result(retry_after="P7DT1S"), "results[0].retry_after", "between PT0S and P7D"),
    (result(retry_after="later"), "results[0].retry_after", "not a duration"),
    (result(started_at="yesterday"), "results[0].started_at", ""),
    (result(headers={f"h{number}": "" for number in range(17)}), "results[0].headers", "at most 16"),
    (result(headers={"h" * 201: ""}), f"results[0].headers.{'h' * 181}", "1 to 200"),
    (result(headers={NUL: ""}), "results[0].headers.?", "control"),
    (result(headers={"a": 1}), "results[0].headers.a", "text"),
    (result(error=5), "results[0].error", "text"),
    (result(reslut=5), "results[0].reslut", "did you mean result?"),
]

RELEASE: list[tuple[Any, str, str]] = [
    ({}, "runs", "required"),
    ({"runs": []}, "runs", "between 1 and 1000"),
    ({"runs": runs(1_001)}, "runs", "between 1 and 1000"),
    ({"runs": [HELD, HELD]}, "runs[1].id", "given twice"),
    (one(id=NUL), "runs[0].id", "not the id of a run"),
    (one(delay="1s"), "runs[0].reason", "goes with delay"),
    (one(reason="concurrency"), "runs[0].reason", "goes with delay"),
    (one(delay="1s", reason="tired"), "runs[0].reason", "must be paused or"),
    (one(delay="PT1H0.001S", reason="concurrency"), "runs[0].delay", "between PT0S and PT1H"),
    (one(outcome="lost"), "runs[0].outcome", "unknown field"),
]

PROGRESS: list[tuple[Any, str, str]] = [
    ({"runs": []}, "runs", "between 1 and 1000"),
    ({"runs": [HELD, HELD]}, "runs[1].id", "given twice"),
    (one(progress=1.001), "runs[0].progress", "between 0 and 1"),
    (one(progress=-0.001), "runs[0].progress", "between 0 and 1"),
    (one(progress="half"), "runs[0].progress", "a number"),
    (one(note=5), "runs[0].note", "text"),
    (one(checkpoint=NUL), "runs[0].checkpoint", "NUL"),
    (one(checkpoint="x" * (limits.CHECKPOINT_BYTES_MAX + 1)), "runs[0].checkpoint", "may be 65536"),
    (one(chekpoint=1), "runs[0].chekpoint", "did you mean checkpoint?"),
]


def check(worker: ApiWorker, verb: str, body: Any, field: str, reason: str) -> None:
    path = "/v1/worker/register" if verb == "register" else f"/v1/worker/{worker.id}/{verb}"
    reply = worker.api.call("POST", path, body)
    assert reply.status == 422, reply.body
    assert reason in reply.reasons[field], reply.reasons


BAD = [
    *(("register", *case) for case in REGISTER),
    *(("heartbeat", *case) for case in HEARTBEAT),
    *(("lease", *case) for case in LEASE),
    *(("report", *case) for case in REPORT),
    *(("release", *case) for case in RELEASE),
    *(("progress", *case) for case in PROGRESS),
]


@pytest.mark.parametrize(
    ("verb", "body", "field", "reason"),
    BAD,
    ids=[f"{case[0]}-{case[2][:40]}-{index}" for index, case in enumerate(BAD)],
)
def test_bad_input_is_told_by_its_field(worker: ApiWorker, verb: str, body: Any, field: str, reason: str) -> None:
    check(worker, verb, body, field, reason)


GOOD: list[tuple[str, Any]] = [
    ("heartbeat", {"busy": 1_000_000, "rates": {"a": 1_000_000, "b": 0}}),
    ("lease", {"limit": 1_000, "wait": "PT0S", "holding": []}),
    ("lease", {"limit": 0, "wait": "PT30S", "holding": [RUN] * 100_000}),
    ("report", {"results": runs(1_000, outcome="succeeded")}),
    ("report", result(status=100, retry_after="P7D", started_at="1970-01-01T00:00:00Z", headers={"h" * 200: "v"})),
    ("report", result(status=999, started_at="9999-12-31T23:59:59Z", result=None, error=None, retry_after=None)),
    ("report", result(token=-1)),
    ("report", result(token=2**200)),
    ("release", {"runs": runs(1_000)}),
    ("release", one(delay="PT1H", reason="concurrency", token=2**63)),
    ("progress", {"runs": runs(1_000, progress=0)}),
    ("progress", one(progress=1, note=None, checkpoint=None, token=2**64)),
    ("progress", one(checkpoint="x" * (limits.CHECKPOINT_BYTES_MAX - 2))),
]


@pytest.mark.parametrize(("verb", "body"), GOOD, ids=[f"{verb}-{index}" for index, (verb, _) in enumerate(GOOD)])
def test_what_stands_at_the_edge_is_taken(worker: ApiWorker, verb: str, body: Any) -> None:
    told = worker.told(verb, body)
    if "refused" in told:
        assert told["accepted"] == []
        assert told["refused"] == [form["id"] for form in body.get("results", body.get("runs"))]


def test_a_registration_at_the_edge_is_taken(api: ServedApi) -> None:
    tasks = [{"name": f"{number:0200d}", "description": "d" * 1_000} for number in range(1_000)]
    ApiWorker(
        api,
        "q" * limits.QUEUE_LETTERS_MAX,
        host="h" * 200,
        version="ü" * 200,
        pid=2**31 - 1,
        slots=1_000_000,
        labels=[f"l{number}" for number in range(16)],
        takes=["http", "http", "task"],
        tasks=tasks,
    )


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity"])
def test_what_is_no_number_is_no_json(worker: ApiWorker, number: bytes) -> None:
    for verb, raw in [
        ("heartbeat", b'{"rates":{"a":%b}}'),
        ("progress", b'{"runs":[{"id":"x","token":1,"progress":%b}]}'),
    ]:
        assert worker.post(verb, raw=raw % number).status == 400


def test_a_number_beyond_numbers_is_refused(worker: ApiWorker) -> None:
    assert worker.post("heartbeat", raw=b'{"rates":{"a":1e999}}').status == 400


def test_bodies_may_be_left_out_where_there_is_nothing_to_say(worker: ApiWorker) -> None:
    assert worker.post("heartbeat").status == worker.post("lease").status == 200
    for verb in ("report", "release", "progress"):
        assert worker.post(verb).status == 400


def test_these_paths_take_no_parameters_and_no_other_methods(worker: ApiWorker) -> None:
    assert "wait" in worker.post("lease?wait=1").reasons
    reply = worker.api.call("GET", f"/v1/worker/{worker.id}/lease")
    assert (reply.status, reply.headers["allow"]) == (405, "POST")
    assert worker.api.call("GET", f"/v1/worker/{worker.id}").headers["allow"] == "DELETE"
