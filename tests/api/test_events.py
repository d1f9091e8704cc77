"""Events over HTTP, as a stream and page by page, on both stores."""

import socket
import threading
from typing import Any

import pytest

from dueline.api import events
from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.events import OF_ONE_RUN, EventMark, EventType
from dueline.domain.states import RunState
from tests.api.serving import TARGET, ServedApi
from tests.api.working import claim, end
from tests.support.keys import AUTHORIZED
from tests.support.listening import Heard, Listener

JSON = {"Accept": "application/json"}


def run(api: ServedApi, state: RunState = RunState.SUCCEEDED, **fields: Any) -> str:
    """A run without a job that has ended."""
    asked = {"target": TARGET, "queue": "q", **fields}
    run_id: str = api.call("POST", "/v1/runs", asked).json["id"]
    end(api, claim(api, queue="q"), state)
    return run_id


def told(heard: list[Heard]) -> list[tuple[str, str]]:
    """What happened to what."""
    return [(one.type, (one.data["run"] or one.data["job"])["id"]) for one in heard]


def pages(api: ServedApi, cursor: str | None, **query: str) -> tuple[list[Any], str]:
    if cursor is not None:
        query["cursor"] = cursor
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    reply = api.call("GET", f"/v1/events?{asked}", headers=JSON)
    assert reply.status == 200, reply.body
    return reply.json["items"], reply.json["next_cursor"]


def test_what_happens_is_told_as_it_happens(own_api: ServedApi) -> None:
    with Listener(own_api.url) as listener:
        job = own_api.create(name="nightly")
        (created,) = listener.hear_many(1)
        assert (created.type, created.data["type"], created.data["id"]) == ("job.created", "job.created", created.id)
        assert created.data["job"] == {"id": job["id"], "name": "nightly", "state": "active", "version": 1}
        assert (created.data["run"], created.data["attempt"]) == (None, None)
        run_id = run(own_api, tags=["a"])
        (ended,) = listener.hear_many(1)
    assert ended.type == "run.succeeded"
    stored = own_api.call("GET", f"/v1/runs/{run_id}").json
    assert ended.data["run"] == {name: stored[name] for name in ended.data["run"]}
    assert created.data["at"] <= ended.data["at"]


def test_all_that_becomes_of_a_job_is_told_in_its_order(own_api: ServedApi) -> None:
    with Listener(own_api.url) as listener:
        job = own_api.create(schedule={"every": "PT1H"})
        path = f"/v1/jobs/{job['id']}"
        for method, rest, body in (
            ("PATCH", "", {"priority": 9}),
            ("POST", "/pause", {}),
            ("POST", "/resume", {}),
            ("POST", "/cancel", {}),
            ("DELETE", "", None),
        ):
            assert own_api.call(method, path + rest, body).status in (200, 204)
        heard = listener.hear_many(6)
    types = ["created", "updated", "paused", "resumed", "cancelled", "deleted"]
    assert [one.type for one in heard] == [f"job.{told}" for told in types]
    assert [one.data["job"]["version"] for one in heard] == [1, 2, 2, 2, 2, 2]
    states = ["active", "active", "paused", "active", "cancelled", "cancelled"]
    assert [one.data["job"]["state"] for one in heard] == states


@pytest.mark.parametrize("state", [RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED])
def test_every_end_has_its_type(own_api: ServedApi, state: RunState) -> None:
    with Listener(own_api.url) as listener:
        run_id = run(own_api, state)
        assert told(listener.hear_many(1)) == [(f"run.{state}", run_id)]


def test_a_listener_that_comes_back_misses_nothing_and_hears_nothing_twice(own_api: ServedApi) -> None:
    with Listener(own_api.url) as listener:
        runs = [run(own_api) for _ in range(3)]
        heard = listener.hear_many(2)
        last_id = listener.last_id
    runs += [run(own_api) for _ in range(3)]
    with Listener(own_api.url, last_id=last_id) as listener:
        heard += listener.hear_many(4)
    assert told(heard) == [("run.succeeded", run_id) for run_id in runs]


def test_a_listener_that_heard_nothing_knows_where_it_was(own_api: ServedApi) -> None:
    run(own_api)
    with Listener(own_api.url) as listener:
        listener.hear_beat()
        last_id = listener.last_id
    assert last_id is not None
    run_id = run(own_api)
    with Listener(own_api.url, last_id=last_id) as listener:
        assert told(listener.hear_many(1)) == [("run.succeeded", run_id)]


def test_one_may_come_back_in_the_middle_of_what_ended_together(own_api: ServedApi) -> None:
    asked = {"runs": [{"target": TARGET, "queue": "q"}] * 5}
    with Listener(own_api.url) as listener:
        items = own_api.call("POST", "/v1/runs/bulk", asked).json["items"]
        run_ids = {item["run"]["id"] for item in items}
        for run_id in run_ids:
            own_api.call("POST", f"/v1/runs/{run_id}/cancel")
        jobs = own_api.call("POST", "/v1/jobs/bulk", {"jobs": [{"target": TARGET}] * 5}).json["items"]
        heard = listener.hear_many(8)
        last_id = listener.last_id
    with Listener(own_api.url, last_id=last_id) as listener:
        heard += listener.hear_many(2)
    assert {one.data["run"]["id"] for one in heard[:5]} == run_ids
    assert sorted(one.data["job"]["id"] for one in heard[5:]) == sorted(item["job"]["id"] for item in jobs)


def test_filters(own_api: ServedApi) -> None:
    job, other = own_api.create(), own_api.create()
    _, cursor = pages(own_api, None)
    own_api.call("POST", f"/v1/jobs/{job['id']}/run", {})
    end(own_api, claim(own_api), RunState.SUCCEEDED)
    failed = run(own_api, RunState.FAILED)
    for one in (job, other):
        own_api.call("POST", f"/v1/jobs/{one['id']}/pause", {})

    def types(**query: str) -> list[str]:
        return [item["type"] for item in pages(own_api, cursor, **query)[0]]

    assert types() == ["run.succeeded", "run.failed", "job.paused", "job.paused"]
    assert types(job_id=job["id"]) == ["run.succeeded", "job.paused"]
    assert types(run_id=failed) == ["run.failed"]
    assert types(type="job.paused") == ["job.paused"] * 2
    assert types(type="job.paused", job_id=other["id"]) == ["job.paused"]
    assert types(type="run.failed", job_id=job["id"]) == []


def test_pages_go_on_from_one_another(own_api: ServedApi) -> None:
    items, cursor = pages(own_api, None)
    assert items == []
    runs = [run(own_api) for _ in range(5)]
    heard: list[str] = []
    for expected in (2, 2, 1, 0):
        items, cursor = pages(own_api, cursor, limit="2")
        assert len(items) == expected
        heard += [item["run"]["id"] for item in items]
    assert heard == runs
    assert pages(own_api, cursor) == ([], cursor)


def test_the_id_of_an_event_is_a_cursor_too(own_api: ServedApi) -> None:
    _, cursor = pages(own_api, None)
    first, second = run(own_api), run(own_api)
    items, _ = pages(own_api, cursor)
    assert [item["run"]["id"] for item in items] == [first, second]
    again, _ = pages(own_api, items[0]["id"])
    assert [item["run"]["id"] for item in again] == [second]


def test_a_page_waits_for_the_first_of_it(own_api: ServedApi) -> None:
    _, cursor = pages(own_api, None)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(pages(own_api, cursor, wait="PT20S")))
    asking.start()
    run_id = run(own_api)
    asking.join(15)
    ((items, _),) = answers
    assert [item["run"]["id"] for item in items] == [run_id]


def test_a_page_that_is_not_to_be_waited_for_is_answered_at_once(own_api: ServedApi) -> None:
    _, cursor = pages(own_api, None, wait="PT20S")
    assert pages(own_api, cursor, wait="PT0S") == ([], cursor)


def test_what_was_forgotten_is_said(own_api: ServedApi) -> None:
    _, cursor = pages(own_api, None)
    first, _, last = run(own_api), run(own_api), run(own_api)
    own_api.on_store(lambda store: store.forget_changes(kept_ms=-60_000, limit=2))
    (reset,), after = pages(own_api, cursor)
    assert (reset["type"], reset["run"], reset["job"]) == ("reset", None, None)
    assert reset["id"] == after
    items, _ = pages(own_api, after)
    assert [item["run"]["id"] for item in items] == [last]
    with Listener(own_api.url, last_id=cursor) as listener:
        heard = listener.hear_many(2)
    assert [one.type for one in heard] == ["reset", "run.succeeded"]
    assert first != heard[1].data["run"]["id"] == last


def test_an_id_of_another_record_is_a_reset(own_api: ServedApi) -> None:
    run_id = run(own_api)
    _, cursor = pages(own_api, None)
    for strange in (EventMark(1, 1).text, EventMark(1, 10**12).text, cursor.partition("-")[0] + "-1000000-0"):
        with Listener(own_api.url, last_id=strange) as listener:
            reset, *_, ended = listener.hear_many(2)
        assert (reset.type, ended.data["run"]["id"]) == ("reset", run_id)


def test_a_filter_does_not_hide_a_reset(own_api: ServedApi) -> None:
    (reset,), _ = pages(own_api, EventMark(1, 1).text, type="run.failed")
    assert reset["type"] == "reset"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("cursor=nonsense", "cursor"),
        ("type=run.exploded", "type"),
        ("job_id=x", "job_id"),
        ("run_id=x", "run_id"),
        ("wait=31s", "wait"),
        ("limit=x", "limit"),
        ("since=now", "since"),
    ],
)
def test_bad_questions_are_refused_with_their_fields(api: ServedApi, query: str, field: str) -> None:
    for headers in (JSON, {}):
        reply = api.call("GET", f"/v1/events?{query}", headers=headers)
        assert (reply.status, list(reply.reasons)) == (422, [field])


def test_a_bad_last_event_id_is_refused(api: ServedApi) -> None:
    reply = api.call("GET", "/v1/events", headers={"Last-Event-ID": "x"})
    assert (reply.status, list(reply.reasons)) == (422, ["Last-Event-ID"])


def test_the_header_counts_over_the_address(own_api: ServedApi) -> None:
    _, cursor = pages(own_api, None)
    run(own_api)
    _, later = pages(own_api, cursor)
    reply = own_api.call("GET", f"/v1/events?cursor={cursor}", headers=JSON | {"Last-Event-ID": later})
    assert reply.json["items"] == []


def test_signs_of_life_come_when_nothing_happens(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENT_BEAT_S", 0.01)
    with Listener(own_api.url) as listener:
        for _ in range(4):
            listener.hear_beat()
        last_id = listener.last_id
    assert last_id == pages(own_api, None)[1]


def test_streams_end_in_order_when_the_server_stops(own_api: ServedApi) -> None:
    run_id = own_api.call("POST", "/v1/runs", {"target": TARGET, "queue": "q"}).json["id"]
    with Listener(own_api.url) as one, Listener(own_api.url, f"/v1/runs/{run_id}/events") as other:
        one.hear_beat()
        other.hear_many(2)
        own_api.stop()
        assert one.hear() is None
        assert other.hear() is None


def test_a_reader_that_takes_nothing_is_cut_off(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENT_STALL_S", 0.2)
    _, cursor = pages(own_api, None)
    asked = {"jobs": [{"target": TARGET, "name": f"{number:0200}"} for number in range(10_000)]}
    assert own_api.call("POST", "/v1/jobs/bulk", asked).status == 200
    with socket.socket() as lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        lazy.settimeout(10)
        lazy.connect(("127.0.0.1", own_api.port))
        key = f"Authorization: {AUTHORIZED['Authorization']}"
        lazy.sendall(f"GET /v1/events?cursor={cursor} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}\r\n\r\n".encode())
        assert lazy.recv(12) == b"HTTP/1.1 200"
        while own_api.listening:
            threading.Event().wait(0.02)
        size, tail = 0, b""
        while chunk := lazy.recv(65_536):
            size += len(chunk)
            tail = chunk
    assert not tail.endswith(b"0\r\n\r\n"), "nobody is told that this was all"
    assert size < 8_000_000


def test_a_listener_that_leaves_is_forgotten(own_api: ServedApi) -> None:
    with Listener(own_api.url) as listener:
        listener.hear_beat()
        assert own_api.listening == 1
    for _ in range(500):
        if not own_api.listening:
            return
        threading.Event().wait(0.01)
    raise AssertionError("it is still waited for")


def test_more_listeners_than_there_is_room_for_are_refused(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EVENT_READERS_MAX", 1)
    with Listener(own_api.url) as listener:
        listener.hear_beat()
        reply = own_api.call("GET", "/v1/events")
        assert (reply.status, reply.json["type"]) == (503, "urn:dueline:problem:unavailable")
        assert reply.headers["retry-after"] == "1"


def test_a_head_has_no_body_and_an_end(own_api: ServedApi) -> None:
    reply = own_api.call("HEAD", "/v1/events")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert reply.headers["cache-control"] == "no-store"


def test_the_story_of_a_run_begins_with_what_was_and_ends_with_the_run(own_api: ServedApi) -> None:
    run_id = own_api.call("POST", "/v1/runs", {"target": TARGET, "queue": "q"}).json["id"]
    with Listener(own_api.url, f"/v1/runs/{run_id}/events") as listener:
        created, ready = listener.hear_many(2)
        claimed = claim(own_api, queue="q")
        (started,) = listener.hear_many(1)
        end(own_api, claimed, RunState.FAILED, reason="run_timeout")
        ended, failed = listener.hear_many(2)
        assert listener.hear() is None, "it ends with the run"
    heard = [created, ready, started, ended, failed]
    assert [one.type for one in heard] == [
        "run.created",
        "run.state",
        "attempt.started",
        "attempt.ended",
        "run.failed",
    ]
    assert ready.id is None
    assert ready.data["run"]["state"] == "ready"
    assert started.data["attempt"] == {"attempt": 1, "worker": "w1", "outcome": None, "status": None, "error": None}
    with Listener(own_api.url, f"/v1/runs/{run_id}/events") as listener:
        then = [one.data["run"] for one in listener.hear_many(4)]
    assert [run["state"] for run in then] == ["ready", "running", "failed", "failed"]
    assert [run["finished_at"] is None for run in then] == [True, True, False, False]
    assert ended.data["attempt"]["outcome"] == "succeeded"
    assert failed.data["run"]["reason"] == "run_timeout"
    with Listener(own_api.url, f"/v1/runs/{run_id}/events", last_id=started.id) as listener:
        assert [one.id for one in listener.hear_many(2)] == [ended.id, failed.id]
        assert listener.hear() is None


def test_the_story_of_a_run_by_pages(own_api: ServedApi) -> None:
    run_id = own_api.call("POST", "/v1/runs", {"target": TARGET, "queue": "q"}).json["id"]
    path = f"/v1/runs/{run_id}/events"
    first = own_api.call("GET", path, headers=JSON).json
    assert [item["type"] for item in first["items"]] == ["run.created"]
    again = own_api.call("GET", f"{path}?cursor={first['next_cursor']}", headers=JSON).json
    assert again == {"items": [], "next_cursor": first["next_cursor"]}
    end(own_api, claim(own_api, queue="q"), RunState.SUCCEEDED)
    rest = own_api.call("GET", f"{path}?cursor={first['next_cursor']}&wait=PT5S", headers=JSON).json
    assert [item["type"] for item in rest["items"]] == ["attempt.started", "attempt.ended", "run.succeeded"]
    assert rest["next_cursor"] is None


def test_there_is_no_story_of_a_run_that_is_not_there(api: ServedApi) -> None:
    for run_id in ("nonsense", "run_01h455vb4pex5vsknk084sn02q"):
        assert api.call("GET", f"/v1/runs/{run_id}/events").status == 404
    run_id = api.call("POST", "/v1/runs", {"target": TARGET}).json["id"]
    reply = api.call("GET", f"/v1/runs/{run_id}/events?cursor=x")
    assert (reply.status, list(reply.reasons)) == (422, ["cursor"])


def test_a_type_that_never_comes_is_refused_by_the_filter(api: ServedApi) -> None:
    for kind in EventType:
        reply = api.call("GET", f"/v1/events?type={kind}", headers=JSON)
        assert reply.status == (422 if kind in OF_ONE_RUN else 200)
        if kind in OF_ONE_RUN:
            assert "/v1/runs/{id}/events" in reply.reasons["type"]


def test_a_store_that_is_away_is_waited_for(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_AWAY_S", 0.01)

    async def take_away(store: Any) -> None:
        ask, left = store.event_bounds, [5]

        async def away() -> Any:
            left[0] -= 1
            if left[0] >= 0:
                raise StoreUnavailable("away")
            return await ask()

        store.event_bounds = away

    with Listener(own_api.url) as listener:
        listener.hear_beat()
        own_api.on_store(take_away)
        run_id = run(own_api)
        assert told(listener.hear_many(1)) == [("run.succeeded", run_id)]
        assert listener.beats > 1, "it hears that somebody is there"


def test_data_is_one_line_whatever_is_in_it(own_api: ServedApi) -> None:
    with Listener(own_api.url) as listener:
        own_api.create(name="a: {} é\\n")
        (created,) = listener.hear_many(1)
    assert created.data["job"]["name"] == "a: {} é\\n"
