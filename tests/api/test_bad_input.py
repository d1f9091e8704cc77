"""Every bad input gets an answer that names the field and a reason to act on, and nothing is stored."""

import json
from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi

URL = TARGET["url"]


def target(**fields: Any) -> dict[str, Any]:
    return {"target": {"url": URL, **fields}}


def schedule(**fields: Any) -> dict[str, Any]:
    return {"target": TARGET, "schedule": fields}


def job(**fields: Any) -> dict[str, Any]:
    return {"target": TARGET, **fields}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


SHAPES: list[tuple[Any, str, str]] = [
    ([], "body", "JSON object"),
    ("text", "body", "JSON object"),
    (None, "body", "JSON object"),
    ({}, "target", "required"),
    ({"target": None}, "target", "an object"),
    ({"target": "http://x/"}, "target", "an object"),
    ({"target": {}}, "target.url", "required"),
    (target(type="ssh"), "target.type", "must be http or task"),
    (target(utl="x"), "target.utl", "did you mean url?"),
    (job(nmae="x"), "nmae", "did you mean name?"),
    (job(id="job_1"), "id", "set by Dueline"),
    (job(state="finished"), "state", "active"),
    (job(version=2), "version", "set by Dueline"),
    (job(concurency=1), "concurency", "did you mean concurrency?"),
    (job(priority="5"), "priority", "a whole number, not text"),
    (job(priority=5.5), "priority", "a whole number"),
    (job(priority=True), "priority", "true or false"),
    (job(fairness_key="a" * 256), "fairness_key", "at most 255 letters"),
    (job(fairness_key="a\0"), "fairness_key", "control characters"),
    (job(queue=None), "queue", "text, not null"),
    (job(queue=["a"]), "queue", "text, not a list"),
    (job(tags="a"), "tags", "a list, not text"),
    (job(tags=["a", 2]), "tags[1]", "text"),
    (job(retry=[]), "retry", "an object, not a list"),
    (job(retry={"max_attempts": "3"}), "retry.max_attempts", "a whole number"),
    (job(overlap="cancel"), "overlap", "queue_one"),
    (job(delivery="twice"), "delivery", "at_most_once"),
    (target(headers={"A": 1}), "target.headers.A", "text"),
    (schedule(cron=5), "schedule.cron", "text"),
    (schedule(cron="0 0 * * *", dst_gap="later"), "schedule.dst_gap", "run_after"),
    (schedule(cron="0 0 * * *", dst_overlap="third"), "schedule.dst_overlap", "both"),
    (schedule(at="2099-01-01T00:00:00Z", allow_past="yes"), "schedule.allow_past", "true or false"),
]

TASKS: list[tuple[Any, str, str]] = [
    ({"target": {"type": "task"}}, "target.task", "is required"),
    ({"target": {"type": "task", **TARGET, "task": "t"}}, "target.url", "has no use for a task"),
    ({"target": {"task": "t", **TARGET}}, "target.task", "has no use for an HTTP call: say type task"),
    ({"target": {"type": "http", **TARGET, "args": {}}}, "target.args", "has no use for an HTTP call"),
    ({"target": {"task": ""}}, "target.task", "1 to 200 letters"),
    ({"target": {"task": "t\0"}}, "target.task", "control characters"),
    ({"target": {"task": "t" * 201}}, "target.task", "1 to 200 letters"),
    ({"target": {"task": "t", "arg": {}}}, "target.arg", "did you mean args?"),
    ({"target": {"task": "t", "args": []}}, "target.args", "an object, not a list"),
    ({"target": {"task": "t", "args": {"a": "\0"}}}, "target.args", "NUL"),
    ({"target": {"task": "t", "args": {"\0": 1}}}, "target.args", "NUL"),
    ({"target": {"task": "t", "args": {"a": "x" * 65_536}}}, "target.args", "is 65544 bytes long, and may be 65536"),
    ({"target": {"task": "t", "args": {"a": deep(64)}}}, "target.args", "more than 64 levels deep"),
    ({"target": {"task": "t", "body": {}}}, "target.body", "say what it needs in target.args"),
    ({"target": {"task": "t", "headers": {"A": "b"}}}, "target.headers", "has no use for a task"),
    ({"target": {"task": "t"}, "requires": ["task"]}, "requires", "task"),
]

TARGETS: list[tuple[Any, str, str]] = [
    ({"target": {"url": url}}, "target.url", reason)
    for url, reason in [
        ("", "http://"),
        ("example.com", "http://"),
        ("ftp://example.com/", "http://"),
        ("file:///etc/passwd", "http://"),
        ("javascript:alert(1)", "http://"),
        ("http://", "no host"),
        ("http:///path", "no host"),
        ("http://:80/", "no host"),
        ("http://user:secret@example.com/", "user info"),
        ("http://example.com@evil.example/", "user info"),
        ("http://example.com:0/", "port"),
        ("http://example.com:65536/", "port"),
        ("http://example.com:x/", "port"),
        ("http://exa mple.com/", "spaces"),
        ("http://example.com/\r\nX: y", "control"),
        ("http://example.com/\x00", "control"),
        ("http://①②⑦.0.0.1/", "ASCII"),
        ("http://example.com\\@evil.example/", "percent-encode"),
        ("http://example.com/#part", "fragment"),
        ("http://2130706433/", "usual form"),
        ("http://0x7f000001/", "usual form"),
        ("http://0177.0.0.1/", "usual form"),
        ("http://127.1/", "usual form"),
        ("http://[::1/", "cannot be read"),
        ("http://[fe80::1%25eth0]/", "zone"),
        ("http://exa..mple/", "cannot be read"),
        ("http://example.com/" + "a" * 4096, "longer than 4096"),
    ]
] + [
    (target(method=""), "target.method", "HTTP method"),
    (target(method="GET /"), "target.method", "HTTP method"),
    (target(method="TRACE"), "target.method", "not for targets"),
    (target(method="connect"), "target.method", "not for targets"),
    (target(headers={"Host": "x"}), "target.headers.Host", "set by Dueline"),
    (target(headers={"content-length": "1"}), "target.headers.content-length", "set by Dueline"),
    (target(headers={"Idempotency-Key": "x"}), "target.headers.Idempotency-Key", "set by Dueline"),
    (target(headers={"Dueline-Run": "x"}), "target.headers.Dueline-Run", "set by Dueline"),
    (target(headers={"X Y": "x"}), "target.headers.X Y", "name of a header"),
    (target(headers={"": "x"}), "target.headers.", "name of a header"),
    (target(headers={"X": "a\r\nEvil: b"}), "target.headers.X", "one line"),
    (target(headers={"X": "a\x00"}), "target.headers.X", "one line"),
    (target(headers={"X": "é"}), "target.headers.X", "ASCII"),
    (target(headers={"X": " a"}), "target.headers.X", "space"),
    (target(headers={"X": "a", "x": "b"}), "target.headers.x", "twice"),
    (target(headers={"X": "a" * 9000}), "target.headers.X", "8192"),
    (target(headers={f"X-{n}": "a" for n in range(65)}), "target.headers", "at most 64"),
    (target(body="x" * 65_537), "target.body", "65536"),
    (target(body=["x" * 65_533]), "target.body", "65537 bytes"),
    (target(body="a\x00b"), "target.body", "NUL"),
    (target(body={"a": ["b\x00"]}), "target.body", "NUL"),
    (target(body={"a\x00": 1}), "target.body", "NUL"),
    (target(body=deep(65)), "target.body", "64 levels"),
]

SCHEDULES: list[tuple[Any, str, str]] = [
    (schedule(), "schedule", "exactly one"),
    (schedule(timezone="UTC"), "schedule", "exactly one"),
    (schedule(cron="* * * * *", every="PT1M"), "schedule", "cron and every"),
    (schedule(cron="* * * *"), "schedule.cron", "number of fields"),
    (schedule(cron="61 * * * *"), "schedule.cron", "minute"),
    (schedule(cron=""), "schedule.cron", "number of fields"),
    (schedule(cron="@fortnightly"), "schedule.cron", "unknown macro"),
    (schedule(cron="0 0 31 2 *"), "schedule.cron", "never fires"),
    (schedule(cron="0 0 0 31 4,6,9,11 *"), "schedule.cron", "never fires"),
    (schedule(cron="* " * 200), "schedule.cron", "longer than 256"),
    (schedule(cron="9" * 200 + " * * * *"), "schedule.cron", "minute"),
    (schedule(cron="* * * * *\x00"), "schedule.cron", "day-of-week"),
    (schedule(cron="* * * * *", timezone="Mars/Olympus"), "schedule.timezone", "unknown time zone"),
    (schedule(cron="* * * * *", timezone="../../etc/passwd"), "schedule.timezone", "unknown time zone"),
    (schedule(cron="* * * * *", timezone="a" * 10_000), "schedule.timezone", "unknown time zone"),
    (schedule(at="2099-01-01T00:00:00Z", start_at="2026-01-01T00:00:00Z"), "schedule.start_at", "goes with cron"),
    (schedule(every="PT1M", timezone="UTC"), "schedule.timezone", "goes with wall times"),
    (schedule(every="PT1M", dst_gap="skip"), "schedule.dst_gap", "goes with cron"),
    (schedule(at="2099-01-01T00:00:00Z", dst_overlap="both"), "schedule.dst_overlap", "goes with cron"),
    (schedule(cron="0 0 * * 8"), "schedule.cron", "day-of-week at column 9"),
    (schedule(every="PT1M", allow_past=True), "schedule.allow_past", "goes with at"),
    (schedule(every="soon"), "schedule.every", "not a duration"),
    (schedule(after="PT5M", calendars=["off"]), "schedule.calendars", "not with after"),
    (schedule(after="PT5M", changed=[{"at": "2099-01-01T00:00:00Z"}]), "schedule.changed", "not with after"),
    (schedule(every="P0.5M"), "schedule.every", "not a duration"),
    (schedule(every="-PT1M"), "schedule.every", "not a duration"),
    (schedule(every="PT0.5S"), "schedule.every", "PT1S is the shortest"),
    (schedule(every="P99999D"), "schedule.every", "between"),
    (schedule(every="1" * 300 + "s"), "schedule.every", "too long"),
    (schedule(every="PT1M", start_at="yesterday"), "schedule.start_at", "RFC 3339"),
    (schedule(at="tomorrow"), "schedule.at", "RFC 3339"),
    (schedule(at="2099-01-01T00:00:00"), "schedule.at", "no offset"),
    (schedule(at="2099-02-30T00:00:00Z"), "schedule.at", "RFC 3339"),
    (schedule(at="10000-01-01T00:00:00Z"), "schedule.at", "RFC 3339"),
    (schedule(at="9999-12-31T23:59:59-01:00"), "schedule.at", "9999"),
    (schedule(at="1969-12-31T23:59:59Z", allow_past=True), "schedule.at", "1970"),
    (schedule(at="2020-01-01T00:00:00Z"), "schedule.at", "allow_past"),
    (schedule(before="PT15M"), "schedule.before", "unknown field"),
]

LABELS: list[tuple[Any, str, str]] = [
    (job(name=""), "name", "1 to 200"),
    (job(name="  "), "name", "1 to 200"),
    (job(name="x" * 201), "name", "1 to 200"),
    (job(name="a\nb"), "name", "control"),
    (job(name="a\x00"), "name", "control"),
    (job(queue=""), "queue", "1 to 100"),
    (job(queue="a b"), "queue", "letters"),
    (job(queue="x" * 101), "queue", "1 to 100"),
    (job(queue="é"), "queue", "letters"),
    (job(region="eu west"), "region", "letters"),
    (job(priority=-1), "priority", "between 0 and 9"),
    (job(priority=10), "priority", "between 0 and 9"),
    (job(priority=10**30), "priority", ""),
    (job(tags=["x" * 65]), "tags[0]", "1 to 64"),
    (job(tags=[""]), "tags[0]", "1 to 64"),
    (job(tags=["a", "b\x1f"]), "tags[1]", "control"),
    (job(tags=["a", "b", "a"]), "tags[2]", "twice"),
    (job(tags=[str(n) for n in range(33)]), "tags", "at most 32"),
    (job(retry={"max_attempts": 0}), "retry.max_attempts", "between 1 and 100"),
    (job(retry={"max_attempts": 101}), "retry.max_attempts", "between 1 and 100"),
    (job(retry={"max_lost": 11}), "retry.max_lost", "between 1 and 10"),
    (job(retry={"base": "P8D", "cap": "P1D"}), "retry.base", "between"),
    (job(retry={"base": "PT2S", "cap": "PT1S"}), "retry.cap", "shorter"),
    (job(retry={"cap": "x"}), "retry.cap", "not a duration"),
    (job(retry={"backoff": "linear"}), "retry.backoff", "exponential"),
    (job(misfire={"cap": 0}), "misfire.cap", "between 1 and 1000"),
    (job(misfire={"window": "x"}), "misfire.window", "not a duration"),
    (job(misfire={"policy": "panic"}), "misfire.policy", "fire_once"),
    (job(timeout="PT0S"), "timeout", "between PT0.1S"),
    (job(timeout="P2D"), "timeout", "between"),
    (job(timeout=30), "timeout", "text"),
]


@pytest.mark.parametrize(("body", "field", "reason"), SHAPES + TASKS + TARGETS + SCHEDULES + LABELS)
def test_a_bad_job_is_refused(api: ServedApi, body: Any, field: str, reason: str) -> None:
    reply = api.call("POST", "/v1/jobs", raw=json.dumps(body).encode())
    problem = reply.json
    assert (reply.status, reply.headers["content-type"]) == (422, "application/problem+json"), problem
    assert (problem["type"], problem["status"]) == ("urn:dueline:problem:invalid", 422)
    assert (problem["title"], problem["instance"]) == ("Unprocessable Content", "/v1/jobs")
    assert list(reply.reasons) == [field]
    assert reason in reply.reasons[field]
    assert len(reply.body) < 2_000


def test_nothing_of_a_bad_job_is_stored(own_api: ServedApi) -> None:
    for body, _, _ in SHAPES + TASKS + TARGETS + SCHEDULES + LABELS:
        assert own_api.call("POST", "/v1/jobs", raw=json.dumps(body).encode()).status == 422
    assert own_api.call("GET", "/v1/jobs").json == {"items": [], "next_cursor": None}


def test_all_problems_are_told_at_once(api: ServedApi) -> None:
    body = {
        "nmae": "x",
        "target": {"url": "ftp://x/", "method": "TRACE", "headers": {"Host": "x", "B": 1}, "body": "\x00"},
        "schedule": {"cron": "0 0 31 2 *", "timezone": "Nowhere"},
        "queue": "a b",
        "priority": 11,
        "tags": [""],
        "retry": {"base": "x", "max_lost": 0},
        "timeout": 5,
        "overlap": "maybe",
    }
    reply = api.call("POST", "/v1/jobs", body)
    assert reply.reasons.keys() == {
        "nmae",
        "target.url",
        "target.method",
        "target.headers.Host",
        "target.headers.B",
        "target.body",
        "schedule.cron",
        "schedule.timezone",
        "queue",
        "priority",
        "tags[0]",
        "retry.base",
        "retry.max_lost",
        "timeout",
        "overlap",
    }
    assert reply.json["detail"] == "15 fields need correction."


RUNS: list[tuple[Any, str, str]] = [
    ({}, "target", "required"),
    ([], "body", "JSON object"),
    (job(name="x"), "name", "unknown field"),
    (job(schedule=None), "schedule", "unknown field"),
    (job(due_at="soon"), "due_at", "RFC 3339"),
    (job(due_at="2020-01-01T00:00:00Z"), "due_at", "past"),
    (job(due_at="9999-12-31T23:59:59-01:00"), "due_at", "9999"),
    (job(queue="a/b"), "queue", "letters"),
    ({"target": {"url": "ftp://x"}}, "target.url", "http://"),
]


@pytest.mark.parametrize(("body", "field", "reason"), RUNS)
def test_a_bad_run_is_refused(api: ServedApi, body: Any, field: str, reason: str) -> None:
    reply = api.call("POST", "/v1/runs", raw=json.dumps(body).encode())
    assert reply.status == 422
    assert list(reply.reasons) == [field]
    assert reason in reply.reasons[field]


QUERIES: list[tuple[str, str, str]] = [
    ("/v1/jobs?sate=active", "sate", "unknown parameter"),
    ("/v1/jobs?state=running", "state", "paused"),
    ("/v1/jobs?state=active&state=paused", "state", "twice"),
    ("/v1/jobs?target_type=ssh", "target_type", "http, task"),
    ("/v1/jobs?limit=ten", "limit", "whole number"),
    ("/v1/jobs?name_prefix=%00", "name_prefix", "control"),
    ("/v1/jobs?cursor=x", "cursor", "not a cursor"),
    ("/v1/jobs?cursor=%C3%A9", "cursor", "not a cursor"),
    ("/v1/runs?job_id=5", "job_id", "job id"),
    ("/v1/runs?state=paused", "state", "succeeded"),
    ("/v1/runs?kind=x", "kind", "adhoc"),
    ("/v1/runs?from=x", "from", "RFC 3339"),
    ("/v1/runs?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to", "before"),
    ("/livez?x=1", "x", "unknown parameter"),
]


@pytest.mark.parametrize(("path", "field", "reason"), QUERIES)
def test_a_bad_query_is_refused(api: ServedApi, path: str, field: str, reason: str) -> None:
    reply = api.call("GET", path)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert reason in reply.reasons[field]
