"""`Idempotency-Key`: a request that is sent again is answered as the first time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dueline.api.app import ROUTES
from dueline.domain.errors import StoreUnavailable
from dueline.domain.requests import KeptAnswer, RequestKey
from dueline.engine import requests
from dueline.store.protocol import Store
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.working import a_dead_letter
from tests.support.stores import register

JOB = {"target": TARGET, "schedule": "0 9 * * *"}


def post(api: ServedApi, path: str, body: Any, key: str = "k1") -> Reply:
    return api.call("POST", path, body, headers={"Idempotency-Key": key})


def number_of_jobs(api: ServedApi) -> int:
    return len(api.call("GET", "/v1/jobs?limit=500").json["items"])


def test_a_request_that_is_sent_again_gets_the_first_answer(own_api: ServedApi) -> None:
    first = post(own_api, "/v1/jobs", JOB)
    own_api.call("POST", f"/v1/jobs/{first.json['id']}/pause")
    second = post(own_api, "/v1/jobs", JOB)
    assert (first.status, second.status, second.body) == (201, 201, first.body)
    assert "idempotent-replayed" not in first.headers
    assert second.headers["idempotent-replayed"] == "true"
    for name in ("etag", "location", "content-type", "content-length"):
        assert second.headers[name] == first.headers[name]
    assert number_of_jobs(own_api) == 1


def first_job(api: ServedApi) -> str:
    return str(api.create(**JOB)["id"])


def on_job(verb: str) -> Callable[[ServedApi], tuple[str, Any]]:
    return lambda api: (f"/v1/jobs/{first_job(api)}/{verb}", {})


def paused(api: ServedApi) -> tuple[str, Any]:
    job_id = first_job(api)
    api.call("POST", f"/v1/jobs/{job_id}/pause")
    return f"/v1/jobs/{job_id}/resume", {}


def skipping(api: ServedApi) -> tuple[str, Any]:
    job = api.create(**JOB)
    return f"/v1/jobs/{job['id']}/skip", {"at": job["next_due_at"]}


def moving(api: ServedApi) -> tuple[str, Any]:
    path, body = skipping(api)
    return path.replace("/skip", "/move"), body | {"to": body["at"].replace("T09:00", "T10:30")}


def restoring(api: ServedApi) -> tuple[str, Any]:
    path, body = skipping(api)
    assert api.call("POST", path, body).status == 200
    return path.replace("/skip", "/restore"), body


def backfilling(api: ServedApi) -> tuple[str, Any]:
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"}
    return f"/v1/jobs/{first_job(api)}/backfill", span


def cancelling(api: ServedApi) -> tuple[str, Any]:
    run = api.call("POST", "/v1/runs", {"target": TARGET}).json
    return f"/v1/runs/{run['id']}/cancel", {}


def redriving(api: ServedApi) -> tuple[str, Any]:
    return f"/v1/dead-letters/{a_dead_letter(api)}/redrive", {}


def retrying(api: ServedApi) -> tuple[str, Any]:
    return f"/v1/runs/{a_dead_letter(api)}/retry", {}


def resuming_queue(api: ServedApi) -> tuple[str, Any]:
    api.call("POST", "/v1/queues/mail/pause")
    return "/v1/queues/mail/resume", {}


def draining(api: ServedApi) -> tuple[str, Any]:
    api.on_store(lambda store: register(store, "w1"))
    return "/v1/workers/w1/drain", {}


ASKED: dict[str, Callable[[ServedApi], tuple[str, Any]]] = {
    "/v1/jobs": lambda _: ("/v1/jobs", JOB),
    "/v1/jobs/bulk": lambda _: ("/v1/jobs/bulk", {"jobs": [JOB, {"target": 5}, JOB]}),
    "/v1/jobs/{id}/pause": on_job("pause"),
    "/v1/jobs/{id}/resume": paused,
    "/v1/jobs/{id}/cancel": on_job("cancel"),
    "/v1/jobs/{id}/run": on_job("run"),
    "/v1/jobs/{id}/versions/{version}/rollback": on_job("versions/1/rollback"),
    "/v1/jobs/{id}/skip": skipping,
    "/v1/jobs/{id}/move": moving,
    "/v1/jobs/{id}/restore": restoring,
    "/v1/jobs/{id}/backfill": backfilling,
    "/v1/schedules/preview": lambda _: ("/v1/schedules/preview", {"schedule": "every 5 minutes"}),
    "/v1/runs": lambda _: ("/v1/runs", {"target": TARGET}),
    "/v1/runs/bulk": lambda _: ("/v1/runs/bulk", {"runs": [{"target": TARGET}, {"target": TARGET}]}),
    "/v1/runs/{id}/cancel": cancelling,
    "/v1/runs/{id}/retry": retrying,
    "/v1/dead-letters/redrive": lambda _: ("/v1/dead-letters/redrive", {}),
    "/v1/dead-letters/purge": lambda _: ("/v1/dead-letters/purge", {}),
    "/v1/dead-letters/{id}/redrive": redriving,
    "/v1/queues/{name}/pause": lambda _: ("/v1/queues/mail/pause", {}),
    "/v1/queues/{name}/resume": resuming_queue,
    "/v1/workers/{id}/drain": draining,
    "/v1/signing-secret/rotate": lambda _: ("/v1/signing-secret/rotate", {}),
    "/v1/recovery": lambda _: ("/v1/recovery", {"policy": "skip"}),
    "/job/create": lambda _: ("/job/create", {"job_type": "x", "frequency": "RECURRING", "schedule": {"hour": 9}}),
}


def test_every_request_that_people_send_is_looked_at() -> None:
    sent = {route.path for route in ROUTES if route.method == "POST" and not route.shows_once}
    assert {path for path in sent if not path.startswith("/v1/worker/")} == ASKED.keys()


@pytest.mark.parametrize("path", ASKED)
def test_every_request_can_be_sent_again(own_api: ServedApi, path: str) -> None:
    where, body = ASKED[path](own_api)
    first, second = (post(own_api, where, body) for _ in range(2))
    assert first.status < 300, first.body
    assert (second.status, second.body) == (first.status, first.body)
    assert second.headers["idempotent-replayed"] == "true"


@pytest.mark.parametrize("path", ASKED)
def test_what_may_not_be_done_twice_is_written_down_with_its_request(
    own_api: ServedApi, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if whoever carried it out was killed before the answer was kept: it is not done again, and told as it is, or as lost."""
    (route,) = (route for route in ROUTES if (route.method, route.path) == ("POST", path))
    where, body = ASKED[path](own_api)
    own_api.on_store(lambda store: no_answers(store, monkeypatch))
    first = post(own_api, where, body)
    monkeypatch.setattr(requests, "_LOST_MS", 0)
    second = post(own_api, where, body)
    assert first.status < 300
    if route.repeatable:
        assert (second.status, "idempotent-replayed" in second.headers) == (first.status, False)
    elif second.status == 409:
        assert second.json["type"].endswith(":answer-lost")
        assert path.endswith(("/bulk", "/backfill", "/rotate", "queues/{name}/resume", "/job/create"))
    else:
        assert (second.status, second.json["id"]) == (first.status, first.json["id"])
        assert second.headers["idempotent-replayed"] == "true"


async def no_answers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_key: RequestKey, _answer: KeptAnswer) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(store, "keep_answer", fails)


def test_a_key_with_another_request_is_refused(own_api: ServedApi) -> None:
    job = post(own_api, "/v1/jobs", JOB).json
    refused = post(own_api, "/v1/jobs", JOB | {"priority": 9})
    assert (refused.status, list(refused.reasons)) == (422, ["Idempotency-Key"])
    other = own_api.create()
    assert post(own_api, f"/v1/jobs/{job['id']}/run", {}).status == 201
    assert post(own_api, f"/v1/jobs/{other['id']}/run", {}).status == 422
    assert post(own_api, f"/v1/jobs/{other['id']}/run", {}, key="k2").status == 201


def test_a_key_with_another_condition_is_refused(own_api: ServedApi) -> None:
    """A condition that is none would otherwise be answered as if it held."""
    path = f"/v1/jobs/{own_api.create()['id']}/run"
    sent = [
        own_api.call("POST", path, {}, headers={"idempotency-key": "k1", "if-match": condition})
        for condition in ('"v1"', '"v1"', '"v2"', "")
    ]
    assert [answer.status for answer in sent] == [201, 201, 422, 422]
    assert sent[0].json == sent[1].json


def test_what_was_refused_may_be_corrected_with_the_same_key(own_api: ServedApi) -> None:
    assert post(own_api, "/v1/jobs", JOB | {"priority": 10}).status == 422
    assert post(own_api, "/v1/jobs", {**JOB, "name": "a"}).status == 201
    assert post(own_api, "/v1/jobs", {**JOB, "name": "a"}, key="k2").status == 409
    assert post(own_api, "/v1/jobs", {**JOB, "name": "b"}, key="k2").status == 201


def test_what_found_nothing_to_do_may_be_sent_again_with_the_same_key(own_api: ServedApi) -> None:
    run = post(own_api, "/v1/runs", {"target": TARGET, "dedupe_key": "d"}).json
    assert post(own_api, "/v1/runs", {"target": TARGET, "dedupe_key": "d"}, key="k2").status == 409
    assert own_api.call("POST", f"/v1/runs/{run['id']}/cancel").status == 200
    assert post(own_api, f"/v1/runs/{run['id']}/cancel", {}).status == 409
    assert post(own_api, "/v1/runs", {"target": TARGET, "dedupe_key": "d"}, key="k2").status == 201


def test_of_fifty_at_once_one_creates_and_all_get_its_answer(own_api: ServedApi) -> None:
    with ThreadPoolExecutor(50) as pool:
        replies = list(pool.map(lambda _: post(own_api, "/v1/jobs", JOB), range(50)))
    assert {(reply.status, reply.body) for reply in replies} == {(201, replies[0].body)}
    assert number_of_jobs(own_api) == 1


def test_while_another_carries_it_out_it_is_in_progress(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PATIENCE_S", 0.0)
    own_api.on_store(lambda store: no_answers(store, monkeypatch))
    assert post(own_api, "/v1/jobs", JOB).status == 201
    reply = post(own_api, "/v1/jobs", JOB)
    assert (reply.status, reply.json["type"]) == (409, "urn:dueline:problem:in-progress")
    assert reply.headers["retry-after"] == "1"


@pytest.mark.parametrize("key", ["k 1", "x" * 255, '"k1"', "a,b;c=d", 'a "b"'])
def test_keys_that_are_taken(api: ServedApi, key: str) -> None:
    first, second = (post(api, "/v1/runs", {"target": TARGET}, key=key) for _ in range(2))
    assert (first.status, second.json["id"]) == (201, first.json["id"])


def test_a_key_in_quotes_is_the_same_without(api: ServedApi) -> None:
    first, second = (post(api, "/v1/runs", {"target": TARGET}, key=key) for key in ("one", '"one"'))
    assert second.json["id"] == first.json["id"]


@pytest.mark.parametrize("key", ["", "x" * 256, '""', '"a', '"a" b', "\u00fc"])
def test_keys_that_are_refused(api: ServedApi, key: str) -> None:
    reply = post(api, "/v1/runs", {"target": TARGET}, key=key)
    assert (reply.status, list(reply.reasons)) == (422, ["Idempotency-Key"])


def test_other_methods_have_no_keys(own_api: ServedApi) -> None:
    job_id = first_job(own_api)
    sent = [own_api.call("DELETE", f"/v1/jobs/{job_id}", headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert [reply.status for reply in sent] == [204, 404]
