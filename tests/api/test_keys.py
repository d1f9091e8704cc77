"""Keys over HTTP: who comes in, and what they may."""

import re
from typing import Any

import pytest

from dueline.api.app import ROUTES
from dueline.api.routes import ApiRoute
from dueline.domain.access import KeyRole
from tests.api.serving import Reply, ServedApi

ROLES = list(KeyRole)
OPEN = {("GET", "/livez"), ("GET", "/readyz"), ("GET", "/v1/openapi.json"), ("GET", "/docs")}
PAGE = {"Accept": "application/json"}
"""Of what goes on for ever somebody who takes JSON gets a page."""
SHARED = ("/v1/queues", "/v1/limits", "/v1/tenants", "/v1/workers", "/v1/worker/", "/metrics")
OPERATORS = {
    ("POST", "/v1/jobs/{id}/backfill"),
    ("POST", "/v1/dead-letters/redrive"),
    ("POST", "/v1/dead-letters/purge"),
    ("DELETE", "/v1/dead-letters/{id}"),
    ("POST", "/v1/dead-letters/{id}/redrive"),
    ("POST", "/v1/recovery"),
}
ADMINS = {
    ("GET", "/v1/signing-secret"),
    ("POST", "/v1/signing-secret/rotate"),
    ("PUT", "/v1/tenants/{tenant}"),
    ("PATCH", "/v1/tenants/{tenant}"),
    ("POST", "/v1/keys"),
    ("GET", "/v1/keys"),
    ("GET", "/v1/keys/{id}"),
    ("DELETE", "/v1/keys/{id}"),
}


def made(api: ServedApi, role: str, *, tenant: str | None = None, **more: Any) -> Any:
    reply = api.call("POST", "/v1/keys", {"role": role, **({"tenant": tenant} if tenant else {}), **more})
    assert reply.status == 201, reply.body
    return reply.json


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def needed(route: ApiRoute) -> KeyRole:
    """Written down here once more, so that a route that asks for less is seen."""
    named = (route.method, route.path)
    if named in ADMINS:
        return KeyRole.ADMIN
    if named in OPERATORS or (route.method != "GET" and route.path.startswith(SHARED)):
        return KeyRole.OPERATOR
    return KeyRole.READER if route.method == "GET" or route.path == "/v1/schedules/preview" else KeyRole.WRITER


def is_shared(route: ApiRoute) -> bool:
    return route.path.startswith(SHARED) and (route.method, route.path) != ("GET", "/v1/tenants/{tenant}")


@pytest.fixture(scope="module")
def keys(api: ServedApi) -> dict[tuple[str, str], str]:
    return {
        (tenant, role): made(api, role, tenant=tenant)["key"]
        for tenant in ("default", "acme", "other")
        for role in ROLES
    }


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_asks_for_a_key_that_may(api: ServedApi, keys: dict[tuple[str, str], str], route: ApiRoute) -> None:
    """Nothing exists that the paths name, and no body is sent: whoever comes in is told so, and the others that they may not."""
    path = re.sub(r"\{\w+\}", "nothing", route.path)
    named = (route.method, route.path)
    for wrong in ({"Authorization": ""}, bearer("unknown-to-all"), {"Authorization": "Basic YTpi"}):
        reply = api.call(route.method, path, headers=wrong | PAGE)
        if named in OPEN:
            assert reply.status == 200
        else:
            assert (reply.status, reply.json["type"]) == (401, "urn:dueline:problem:unauthorized")
            assert reply.headers["www-authenticate"].startswith("Bearer")
    if named in OPEN:
        return
    for (tenant, role), key in keys.items():
        if named == ("POST", "/v1/signing-secret/rotate") and role == KeyRole.ADMIN:
            continue
        may = KeyRole(role).covers(needed(route)) and (tenant == "default" or not is_shared(route))
        reply = api.call(route.method, path, headers=bearer(key) | PAGE)
        assert (reply.status == 403) == (not may), (tenant, role, reply.body)
        assert reply.status not in (401, 500, 503)


def ways(job_id: str, run_id: str, key_id: str) -> list[tuple[str, str, Any]]:
    body = {"target": {"url": "http://127.0.0.1:9/"}}
    return [
        ("GET", f"/v1/jobs/{job_id}", None),
        ("PUT", f"/v1/jobs/{job_id}", body),
        ("PATCH", f"/v1/jobs/{job_id}", {"priority": 3}),
        ("POST", f"/v1/jobs/{job_id}/pause", None),
        ("POST", f"/v1/jobs/{job_id}/resume", None),
        ("POST", f"/v1/jobs/{job_id}/run", None),
        ("GET", f"/v1/jobs/{job_id}/occurrences", None),
        ("GET", f"/v1/runs/{run_id}", None),
        ("GET", f"/v1/runs/{run_id}/why", None),
        ("POST", f"/v1/runs/{run_id}/cancel", None),
        ("GET", "/v1/calendars/holidays", None),
        ("DELETE", "/v1/calendars/holidays", None),
        ("DELETE", f"/v1/jobs/{job_id}", None),
        ("GET", "/v1/tenants/acme", None),
        ("GET", f"/v1/keys/{key_id}", None),
        ("DELETE", f"/v1/keys/{key_id}", None),
    ]


def test_what_is_anothers_is_not_there(api: ServedApi, keys: dict[tuple[str, str], str]) -> None:
    """Whatever a stranger tries, it is the answer to something that never was; and the owner finds everything as it was left."""
    own, stranger = bearer(keys["acme", "admin"]), bearer(keys["other", "admin"])
    job = api.call("POST", "/v1/jobs", {"target": {"url": "http://127.0.0.1:9/"}}, headers=own).json
    run = api.call("POST", f"/v1/jobs/{job['id']}/run", headers=own).json
    api.call("PUT", "/v1/calendars/holidays", {"dates": ["2099-01-01"]}, headers=own)
    key_id = made(api, "reader", tenant="acme")["id"]
    for method, path, body in ways(job["id"], run["id"], key_id):
        reply = api.call(method, path, body, headers=stranger)
        assert reply.status == 404, (method, path, reply.body)
    for path in ("/v1/jobs", "/v1/runs", "/v1/dead-letters", "/v1/calendars", "/v1/audit"):
        text = api.call("GET", path, headers=stranger).body
        assert job["id"].encode() not in text
        assert run["id"].encode() not in text
        assert b"holidays" not in text
    for method, path, body in ways(job["id"], run["id"], key_id):
        reply = api.call(method, path, body, headers=own)
        assert reply.status < 300 or reply.status == 409, (method, path, reply.body)


def test_a_job_is_of_the_tenant_of_the_key(api: ServedApi, keys: dict[tuple[str, str], str]) -> None:
    job = api.call(
        "POST", "/v1/jobs", {"target": {"url": "http://127.0.0.1:9/"}}, headers=bearer(keys["acme", "writer"])
    )
    assert job.json["tenant"] == "acme"


def test_a_key_is_shown_once(api: ServedApi) -> None:
    new = made(api, "writer", name="deploys", expires_at="2099-01-01T00:00:00Z")
    assert new["key"].startswith(f"dueline_{new['id']}_")
    found = api.call("GET", f"/v1/keys/{new['id']}").json
    assert found == {name: value for name, value in new.items() if name != "key"}
    assert (found["role"], found["name"], found["expires_at"]) == ("writer", "deploys", "2099-01-01T00:00:00.000Z")
    assert new["key"].encode() not in api.call("GET", "/v1/keys").body


def test_whoever_calls_is_told_who_they_are(api: ServedApi) -> None:
    new = made(api, "operator", tenant="acme")
    told = api.call("GET", "/v1/caller", headers=bearer(new["key"])).json
    assert told == {"key_id": new["id"], "tenant": "acme", "role": "operator", "governs": False, "expires_at": None}


def test_admins_look_after_their_own(api: ServedApi, keys: dict[tuple[str, str], str]) -> None:
    own = bearer(keys["acme", "admin"])
    new = api.call("POST", "/v1/keys", {"role": "reader"}, headers=own)
    assert (new.status, new.json["tenant"]) == (201, "acme")
    for method, path, body in (
        ("POST", "/v1/keys", {"role": "reader", "tenant": "other"}),
        ("GET", "/v1/keys?tenant=other", None),
    ):
        assert api.call(method, path, body, headers=own).status == 403
    listed = api.call("GET", "/v1/keys", headers=own).json["items"]
    assert {key["tenant"] for key in listed} == {"acme"}
    assert new.json["id"] in [key["id"] for key in listed]
    assert listed == api.call("GET", "/v1/keys?tenant=acme").json["items"]


def test_keys_come_page_by_page(api: ServedApi) -> None:
    ids = sorted(made(api, "reader", tenant="paged")["id"] for _ in range(5))
    pages, cursor = [], ""
    for _ in range(3):
        page = api.call("GET", f"/v1/keys?tenant=paged&limit=2{cursor}").json
        pages.append([key["id"] for key in page["items"]])
        cursor = f"&cursor={page['next_cursor']}"
    assert (pages, cursor) == ([ids[:2], ids[2:4], ids[4:]], "&cursor=None")


def test_a_revoked_key_opens_nothing(api: ServedApi) -> None:
    new = made(api, "reader")
    assert api.call("GET", "/v1/jobs", headers=bearer(new["key"])).status == 200
    revoked = api.call("DELETE", f"/v1/keys/{new['id']}")
    assert (revoked.status, revoked.json["revoked_at"] is None) == (200, False)
    assert api.call("GET", "/v1/jobs", headers=bearer(new["key"])).status == 401
    assert api.call("DELETE", f"/v1/keys/{new['id']}").json == revoked.json


def test_an_expired_key_opens_nothing(api: ServedApi) -> None:
    new = made(api, "reader", expires_at="2020-01-01T00:00:00Z")
    assert api.call("GET", "/v1/jobs", headers=bearer(new["key"])).status == 401


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "role"),
        ({"role": "owner"}, "role"),
        ({"role": "reader", "name": "a\nb"}, "name"),
        ({"role": "reader", "tenant": "a b"}, "tenant"),
        ({"role": "reader", "expires_at": "tomorrow"}, "expires_at"),
        ({"role": "reader", "key": "mine"}, "key"),
    ],
)
def test_a_key_that_makes_no_sense_is_refused(api: ServedApi, body: Any, field: str) -> None:
    reply = api.call("POST", "/v1/keys", body)
    assert reply.status == 422
    assert field in reply.reasons


def test_a_key_asked_for_twice_is_made_once_and_shown_once(api: ServedApi) -> None:
    def ask() -> Reply:
        return api.call("POST", "/v1/keys", {"role": "reader", "tenant": "twice"}, headers={"Idempotency-Key": "k"})

    first, second = ask(), ask()
    assert first.status == 201
    assert (second.status, second.json["type"]) == (409, "urn:dueline:problem:shown-once")
    assert first.json["key"].encode() not in second.body
    assert [key["id"] for key in api.call("GET", "/v1/keys?tenant=twice").json["items"]] == [first.json["id"]]


def test_a_key_is_not_in_the_store(own_api: ServedApi) -> None:
    key = own_api.call("POST", "/v1/keys", {"role": "reader"}, headers={"Idempotency-Key": "k"}).json

    async def rows(store: Any) -> str:
        return repr(await store.api_key(key["id"]))

    assert key["key"].rsplit("_", 1)[1][:20] not in own_api.on_store(rows)
