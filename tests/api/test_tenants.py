"""Tenants over HTTP: what is set, what is used, and what is refused because of it."""

from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.job import DEFAULT_TENANT
from tests.api.serving import TARGET, Reply, ServedApi

NO_QUOTAS = dict.fromkeys(
    (
        "jobs",
        "running",
        "runs_per_second",
        "payload_bytes",
        "run_now_per_minute",
        "backfill_runs",
        "retention_days",
    )
)
MOST = {
    "jobs": limits.QUOTA_JOBS_MAX,
    "running": limits.QUOTA_RUNNING_MAX,
    "runs_per_second": limits.QUOTA_RATE_MAX,
    "payload_bytes": limits.PAYLOAD_BYTES_CEILING,
    "run_now_per_minute": limits.QUOTA_RATE_MAX,
    "backfill_runs": limits.BACKFILL_RUNS_MAX,
    "retention_days": limits.HISTORY_DAYS_MAX,
}


def put(api: ServedApi, name: str = DEFAULT_TENANT, **asked: Any) -> Any:
    reply = api.call("PUT", f"/v1/tenants/{name}", asked)
    assert reply.status == 200, reply.body
    return reply.json


def over(reply: Reply, quota: str, *, limit: int, used: int) -> str | None:
    """That a request was refused because of a quota; answers what it says about waiting."""
    assert reply.status == 429, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json
    assert problem["type"] == "urn:dueline:problem:over-quota"
    assert (problem["quota"], problem["limit"], problem["used"]) == (quota, limit, used)
    assert quota in problem["detail"]
    return reply.headers.get("retry-after")


def test_a_tenant_that_nothing_was_set_for_has_the_defaults(api: ServedApi) -> None:
    assert api.call("GET", "/v1/tenants/quiet").json == {
        "name": "quiet",
        "weight": 1.0,
        "quotas": NO_QUOTAS,
        "used": {"jobs": 0, "running": 0, "run_now_per_minute": None},
        "updated_at": None,
    }


def test_what_is_put_is_all_that_is_set(api: ServedApi) -> None:
    told = put(api, "whole", weight=2.5, quotas={"jobs": 10, "retention_days": 30})
    assert (told["weight"], told["quotas"]) == (2.5, {**NO_QUOTAS, "jobs": 10, "retention_days": 30})
    assert told["updated_at"] is not None
    assert api.call("GET", "/v1/tenants/whole").json == told
    assert put(api, "whole", quotas={"running": 5})["quotas"] == {**NO_QUOTAS, "running": 5}
    assert put(api, "whole")["quotas"] == NO_QUOTAS


def test_a_patch_leaves_the_rest_as_it_is(api: ServedApi) -> None:
    put(api, "some", weight=2.0, quotas={"jobs": 10, "running": 5})
    told = api.call("PATCH", "/v1/tenants/some", {"quotas": {"running": None, "payload_bytes": 100}}).json
    assert (told["weight"], told["quotas"]) == (2.0, {**NO_QUOTAS, "jobs": 10, "payload_bytes": 100})
    assert api.call("PATCH", "/v1/tenants/some", {"weight": None}).json["weight"] == 1.0
    assert api.call("PATCH", "/v1/tenants/new", {"weight": 3}).json["weight"] == 3.0


@pytest.mark.parametrize("quota", MOST)
def test_a_quota_has_bounds(api: ServedApi, quota: str) -> None:
    for value in (1, MOST[quota]):
        assert put(api, "edge", quotas={quota: value})["quotas"][quota] == value
    for value in (0, -1, MOST[quota] + 1):
        reply = api.call("PUT", "/v1/tenants/edge", {"quotas": {quota: value}})
        assert reply.status == 422
        assert list(reply.reasons) == [f"quotas.{quota}"]
    assert api.call("PUT", "/v1/tenants/edge", {"quotas": {quota: "1"}}).status == 422
    assert api.call("PUT", "/v1/tenants/edge", {"quotas": {quota: 1.5}}).status == 422


def test_a_weight_has_bounds(api: ServedApi) -> None:
    for weight in (limits.WEIGHT_MIN, limits.WEIGHT_MAX):
        assert put(api, "heavy", weight=weight)["weight"] == weight
    for weight in (0, 0.0099, -1, 100.001):
        assert api.call("PUT", "/v1/tenants/heavy", {"weight": weight}).reasons.keys() == {"weight"}
        assert api.call("PATCH", "/v1/tenants/heavy", {"weight": weight}).reasons.keys() == {"weight"}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"quotas": {"job": 1}}, {"quotas.job"}),
        ({"used": {"jobs": 1}}, {"used"}),
        ({"weight": "2", "quotas": {"jobs": 0, "running": True}}, {"weight", "quotas.jobs", "quotas.running"}),
        ([], {"body"}),
    ],
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_everything_that_is_wrong_is_told(api: ServedApi, method: str, body: Any, fields: set[str]) -> None:
    reply = api.call(method, "/v1/tenants/wrong", body)
    assert (reply.status, set(reply.reasons)) == (422, fields)
    assert api.call("GET", "/v1/tenants/wrong").json["updated_at"] is None


def test_what_cannot_be_a_name_names_no_tenant(api: ServedApi) -> None:
    for name in ("a%20b", "%00", "x" * 101, "a:b"):
        assert api.call("GET", f"/v1/tenants/{name}").status == 404
        for method in ("PUT", "PATCH"):
            reply = api.call(method, f"/v1/tenants/{name}", {"weight": 2})
            assert (reply.status, set(reply.reasons)) == (422, {"tenant"})


def test_tenants_are_listed_by_name_page_by_page(own_api: ServedApi) -> None:
    names = ["Z", "a", "b", "c-1", "c.1"]
    for name in reversed(names):
        put(own_api, name, weight=2)
    own_api.call("GET", "/v1/tenants/unset")
    found: list[str] = []
    query = "limit=2"
    while True:
        page = own_api.call("GET", f"/v1/tenants?{query}").json
        found += [one["name"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        query = f"limit=2&cursor={page['next_cursor']}"
    assert found == sorted(names)
    assert own_api.call("GET", "/v1/tenants?cursor=x").status == 422
    assert own_api.call("GET", "/v1/tenants?state=x").status == 422


def test_as_many_jobs_as_the_quota_can_be_created(own_api: ServedApi) -> None:
    put(own_api, quotas={"jobs": 2})
    first = own_api.create(name="one")
    own_api.create(name="two")
    reply = own_api.call("POST", "/v1/jobs", {"target": TARGET, "name": "three"})
    assert over(reply, "jobs", limit=2, used=2) is None
    assert own_api.call("GET", f"/v1/tenants/{DEFAULT_TENANT}").json["used"]["jobs"] == 2
    assert own_api.call("POST", "/v1/jobs", {"target": TARGET, "name": "two"}).status == 409
    assert own_api.call("PATCH", f"/v1/jobs/{first['id']}", {"name": "other"}).status == 200
    assert own_api.call("DELETE", f"/v1/jobs/{first['id']}").status == 204
    own_api.create(name="three")
    assert put(own_api, quotas={})["used"]["jobs"] == 2
    own_api.create(name="four")


@pytest.mark.parametrize("atomic", [False, True])
def test_a_bulk_call_that_is_too_many_creates_none(own_api: ServedApi, atomic: bool) -> None:
    put(own_api, quotas={"jobs": 3})
    own_api.create(name="one")

    def create(*names: str) -> Reply:
        jobs = [{"target": TARGET, "name": name} for name in names]
        return own_api.call("POST", "/v1/jobs/bulk", {"jobs": jobs, "atomic": atomic})

    assert over(create("two", "three", "four"), "jobs", limit=3, used=1) is None
    assert len(own_api.call("GET", "/v1/jobs").json["items"]) == 1
    assert create("two", "three").json["created"] == 2


def test_a_payload_may_have_as_many_bytes_as_the_quota(own_api: ServedApi) -> None:
    big = own_api.create(target={**TARGET, "body": "x" * 100}, name="big")
    put(own_api, quotas={"payload_bytes": 10})
    fits, more = {**TARGET, "body": "x" * 10}, {**TARGET, "body": "x" * 11}
    job = own_api.create(target=fits)
    own_api.create(target={"type": "task", "task": "t", "args": {"a": 1234}})
    refused = [
        own_api.call("POST", "/v1/jobs", {"target": more}),
        own_api.call("PUT", f"/v1/jobs/{job['id']}", {"target": more}),
        own_api.call("PATCH", f"/v1/jobs/{job['id']}", {"target": more}),
        own_api.call("POST", "/v1/runs", {"target": more}),
    ]
    for reply in refused:
        assert reply.status == 422
        assert "the quota payload_bytes is 10" in reply.reasons["target.body"]
    for noun in ("jobs", "runs"):
        items = {noun: [{"target": fits}, {"target": more}]}
        reply = own_api.call("POST", f"/v1/{noun}/bulk", {**items, "atomic": True})
        assert (reply.status, set(reply.reasons)) == (422, {f"{noun}[1].target.body"})
        made = own_api.call("POST", f"/v1/{noun}/bulk", items).json
        assert [item["status"] for item in made["items"]] == [201, 422]
        assert made["items"][1]["problem"]["errors"][0]["field"] == "target.body"
    assert own_api.call("POST", "/v1/runs", {"target": fits}).status == 201
    # What was there before stays, and can be changed in other ways.
    assert own_api.call("PATCH", f"/v1/jobs/{big['id']}", {"priority": 7}).status == 200
    assert own_api.call("POST", f"/v1/jobs/{big['id']}/run").status == 201


def test_as_many_runs_as_the_quota_can_be_asked_for_in_a_minute(own_api: ServedApi) -> None:
    job = own_api.create()
    put(own_api, quotas={"run_now_per_minute": 5})
    assert own_api.call("POST", f"/v1/jobs/{job['id']}/run").status == 201
    assert own_api.call("POST", "/v1/runs", {"target": TARGET}).status == 201
    assert own_api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TARGET}] * 3}).status == 200
    for path, body in ((f"/v1/jobs/{job['id']}/run", None), ("/v1/runs", {"target": TARGET})):
        wait = over(own_api.call("POST", path, body), "run_now_per_minute", limit=5, used=5)
        assert wait is not None
        assert 1 <= int(wait) <= 12
    for atomic in (False, True):
        bulk = own_api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TARGET}] * 6, "atomic": atomic})
        assert over(bulk, "run_now_per_minute", limit=5, used=5) is None
    assert own_api.call("GET", f"/v1/tenants/{DEFAULT_TENANT}").json["used"]["run_now_per_minute"] == 5
    assert len(own_api.call("GET", "/v1/runs").json["items"]) == 5
    put(own_api)
    assert own_api.call("POST", "/v1/runs", {"target": TARGET}).status == 201


def test_a_run_of_a_job_that_is_not_there_costs_nothing(own_api: ServedApi) -> None:
    put(own_api, quotas={"run_now_per_minute": 1})
    assert own_api.call("POST", "/v1/jobs/job_00000000000000000000000000/run").status == 404
    assert own_api.call("POST", "/v1/runs", {"target": {}}).status == 422
    assert own_api.call("GET", f"/v1/tenants/{DEFAULT_TENANT}").json["used"]["run_now_per_minute"] == 0


def test_a_backfill_may_have_as_many_runs_as_the_quota(own_api: ServedApi) -> None:
    job = own_api.create(schedule={"cron": "0 * * * *"})
    put(own_api, quotas={"backfill_runs": 3})

    def backfill(to: str, **asked: Any) -> Reply:
        body = {"from": "2026-01-01T00:00:00Z", "to": to, **asked}
        return own_api.call("POST", f"/v1/jobs/{job['id']}/backfill", body)

    assert backfill("2026-01-01T03:00:00Z").json["count"] == 3
    for dry_run in (False, True):
        reply = backfill("2026-01-01T03:00:01Z", dry_run=dry_run)
        assert over(reply, "backfill_runs", limit=3, used=0) is None


def test_other_tenants_quotas_do_not_matter(own_api: ServedApi) -> None:
    put(own_api, "other", quotas={"jobs": 1, "payload_bytes": 1, "run_now_per_minute": 1, "backfill_runs": 1})
    for _ in range(2):
        own_api.create(target={**TARGET, "body": "xx"})
        assert own_api.call("POST", "/v1/runs", {"target": TARGET}).status == 201
