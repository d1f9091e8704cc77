"""`dry_run`: the answer is what would be, and nothing is written."""

from typing import Any

import pytest

from tests.api.serving import TARGET, Reply, ServedApi

READ_ONLY = ("id", "created_at", "updated_at")


def job(**fields: Any) -> dict[str, Any]:
    return {"target": TARGET, **fields}


def everything(api: ServedApi) -> Any:
    return api.call("GET", "/v1/jobs?limit=500").json["items"]


def settled(view: dict[str, Any]) -> dict[str, Any]:
    """What two answers have in common that were given at different times."""
    return {name: value for name, value in view.items() if name not in READ_ONLY}


def replaced(api: ServedApi, there: Any, body: Any, **headers: str) -> Reply:
    return api.call("PUT", f"/v1/jobs/{there['id']}?dry_run=true", body, headers=headers)


def test_a_job_is_told_as_it_would_be_created(own_api: ServedApi) -> None:
    asked = job(name="a", schedule={"at": "2099-01-01T00:00:00Z"}, concurrency=5, tags=["x"])
    reply = own_api.call("POST", "/v1/jobs?dry_run=true", asked)
    assert (reply.status, everything(own_api)) == (200, [])
    assert "location" not in reply.headers
    assert "etag" not in reply.headers
    created = own_api.call("POST", "/v1/jobs?dry_run=false", asked)
    assert created.status == 201
    assert settled(created.json) == settled(reply.json)


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        (job(priority=10), 422, "priority"),
        (job(schedule="0 0 31 2 *"), 422, "schedule"),
        (job(schedule={"cron": "0 9 * * *", "calendars": ["nowhere"]}), 422, "schedule.calendars[0]"),
        (job(name="taken"), 409, "name"),
    ],
)
def test_what_would_be_refused_is_refused(own_api: ServedApi, asked: Any, status: int, field: str) -> None:
    there = own_api.create(name="taken")
    own_api.create(name="taken too")
    for path in ("/v1/jobs", "/v1/jobs?dry_run=true"):
        reply = own_api.call("POST", path, asked)
        assert (reply.status, list(reply.reasons)) == (status, [field])
    dry, wet = (own_api.call("POST", f"/v1/jobs{query}", asked).json for query in ("?dry_run=true", ""))
    assert {**dry, "request_id": None} == {**wet, "request_id": None}
    if status == 422:
        reply = replaced(own_api, there, asked)
        assert (reply.status, list(reply.reasons)) == (status, [field])
    assert len(everything(own_api)) == 2


def test_of_many_each_is_told_by_itself(own_api: ServedApi) -> None:
    own_api.create(name="taken")
    jobs = [job(name=name) for name in ("a", "taken", "a", "b", "take")] + [job(priority=10), {}]
    dry = own_api.call("POST", "/v1/jobs/bulk?dry_run=true", {"jobs": jobs})
    assert len(everything(own_api)) == 1
    wet = own_api.call("POST", "/v1/jobs/bulk", {"jobs": jobs})
    assert [item["status"] for item in dry.json["items"]] == [201, 409, 409, 201, 201, 422, 422]
    assert [item.get("problem") for item in dry.json["items"]] == [item.get("problem") for item in wet.json["items"]]
    assert (dry.json["created"], dry.json["failed"]) == (wet.json["created"], wet.json["failed"]) == (3, 4)
    for told, made in zip(dry.json["items"], wet.json["items"], strict=True):
        assert settled(told.get("job", {})) == settled(made.get("job", {}))


@pytest.mark.parametrize("jobs", [["a", "taken"], ["a", "a"], ["a", "b"]])
def test_all_or_none_is_told_as_it_would_be(own_api: ServedApi, jobs: list[str]) -> None:
    own_api.create(name="taken")
    asked = {"jobs": [job(name=name) for name in jobs], "atomic": True}
    dry = own_api.call("POST", "/v1/jobs/bulk?dry_run=true", asked)
    assert len(everything(own_api)) == 1
    wet = own_api.call("POST", "/v1/jobs/bulk", asked)
    assert (dry.status, dry.reasons) == (wet.status, wet.reasons)
    assert dry.status == (200 if jobs == ["a", "b"] else 409)


def test_a_job_is_told_as_it_would_be_replaced(own_api: ServedApi) -> None:
    there = own_api.create(name="a", schedule={"every": "PT15M"})
    own_api.create(name="taken")
    before = everything(own_api)
    asked = job(name="b", schedule={"every": "PT15M"}, priority=9)
    reply = replaced(own_api, there, asked, **{"If-Match": '"v1"'})
    assert (reply.status, reply.json["id"], reply.json["version"]) == (200, there["id"], 2)
    assert (reply.json["schedule"], reply.json["priority"]) == (there["schedule"], 9)
    assert "etag" not in reply.headers
    assert everything(own_api) == before
    assert replaced(own_api, there, job(name="a", schedule="15m")).json["version"] == 1
    assert replaced(own_api, there, asked, **{"If-Match": '"v2"'}).status == 412
    taken = replaced(own_api, there, job(name="taken"))
    assert (taken.status, taken.json["detail"]) == (409, "the name 'taken' is taken")
    assert own_api.call("PUT", "/v1/jobs/job_01h455vb4pex5vsknk084sn02q?dry_run=true", asked).status == 404
    assert everything(own_api) == before
    made = own_api.call("PUT", f"/v1/jobs/{there['id']}", asked).json
    assert settled(made) == settled(reply.json)


def test_a_schedule_with_calendars_is_told_as_it_would_be(own_api: ServedApi) -> None:
    own_api.call("PUT", "/v1/calendars/weekend", {"weekdays": ["SAT", "SUN"]})
    there = own_api.create(name="a")
    asked = job(name="a", schedule={"cron": "0 9 * * *", "calendars": ["weekend"]})
    told = replaced(own_api, there, asked).json
    assert told["next_due_at"] is not None
    assert own_api.call("GET", f"/v1/jobs/{there['id']}").json == there
    # No job names it: what was only asked left no trace.
    assert own_api.call("DELETE", "/v1/calendars/weekend").status == 204


def test_a_quota_counts(own_api: ServedApi) -> None:
    own_api.create(name="a")
    assert own_api.call("PUT", "/v1/tenants/default", {"quotas": {"jobs": 2}}).status == 200
    assert own_api.call("POST", "/v1/jobs?dry_run=true", job(name="b")).status == 200
    for path in ("/v1/jobs/bulk?dry_run=true", "/v1/jobs/bulk"):
        refused = own_api.call("POST", path, {"jobs": [job(name="b"), job(name="c")]})
        assert (refused.status, refused.json["used"], refused.json["limit"]) == (429, 1, 2)
    fits = own_api.call("POST", "/v1/jobs/bulk?dry_run=true", {"jobs": [job(name="b"), job(name="a")]})
    assert (fits.status, fits.json["created"], fits.json["failed"]) == (200, 1, 1)


def test_a_dry_run_does_not_use_up_a_key(own_api: ServedApi) -> None:
    key = {"Idempotency-Key": "k1"}
    for path, body in (("/v1/jobs", job(name="a")), ("/v1/jobs/bulk", {"jobs": [job(name="b")]})):
        assert own_api.call("POST", f"{path}?dry_run=true", body, headers=key).status == 200
        made = own_api.call("POST", path, body, headers=key)
        assert made.status in (200, 201)
        # What is asked after it is answered as things are now.
        again = own_api.call("POST", f"{path}?dry_run=true", body, headers=key)
        assert again.json.get("failed", 1) == 1
        assert "idempotent-replayed" not in again.headers
    assert {one["name"] for one in everything(own_api)} == {"a", "b"}


@pytest.mark.parametrize("query", ["dry_run=yes", "dry_run=1", "dryrun=true", "dry_run=true&dry_run=true"])
def test_another_parameter_is_refused(api: ServedApi, query: str) -> None:
    there = api.create()
    before = everything(api)
    for method, path, body in (
        ("POST", "/v1/jobs", job()),
        ("POST", "/v1/jobs/bulk", {"jobs": [job()]}),
        ("PUT", f"/v1/jobs/{there['id']}", job(priority=1)),
    ):
        assert api.call(method, f"{path}?{query}", body).status == 422
    assert api.call("PATCH", f"/v1/jobs/{there['id']}?dry_run=true", {"priority": 1}).status == 422
    assert everything(api) == before


def test_a_key_that_is_none_is_refused_in_a_dry_run_too(api: ServedApi) -> None:
    headers = {"Idempotency-Key": "k" * 256}
    reply = api.call("POST", "/v1/jobs?dry_run=true", {"target": TARGET}, headers=headers)
    assert (reply.status, list(reply.reasons)) == (422, ["Idempotency-Key"])
