"""Keys over HTTP: who comes in, and what they may."""

import re
from typing import Any

import msgspec
import pytest

from dueline.api.app import ROUTES
from dueline.api.routes import ApiRoute
from dueline.domain.access import KeyRole
from tests.api.serving import Reply, ServedApi
from tests.api.things import NAMING, Owner, Thing, missing, named, thing_for

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

WRITES_ITS_OWN = {
    *("PUT /v1/calendars/{name}", "PUT /v1/jobs/by-name/{name}", "PUT /v1/limits/{scope}/{name}"),
    *("PUT /v1/tenants/{tenant}", "PATCH /v1/tenants/{tenant}"),
}
"""What is not there is created."""
EVERYBODYS = "/v1/job-types"
"""What workers offer is for all tenants."""
THERE_WHEN_NAMED = "/v1/queues/{name}"
"""Nobody creates one: it is there as soon as somebody names it."""
GO_BY_THEMSELVES = {"workers", "slots", "busy", "busy_share"}
"""What a queue tells of workers: those of tests that are over are given up when their leases end."""
JUDGED_BY_TOKENS = ("/report", "/release", "/progress")
"""What a worker tells of runs is refused run by run, whoever it is."""


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


def owners(api: ServedApi, keys: dict[tuple[str, str], str], tenant: str) -> dict[KeyRole, Owner]:
    return {role: Owner(api, tenant, keys[tenant, role]) for role in ROLES}


def read(owner: Owner, thing: Thing, route: ApiRoute) -> Any:
    """What can be read at the path of a thing, and of a job of its body."""
    first = route.path[: route.path.find("}") + 1]
    readable = [one for one in NAMING if one.method == "GET" and one.path == first]
    paths = [thing.path(one) for one in readable] + ([f"/v1/jobs/{thing.job_id}"] if thing.job_id else [])
    answers = [owner.call("GET", path).json for path in paths]
    return [{field: value for field, value in answer.items() if field not in GO_BY_THEMSELVES} for answer in answers]


def test_a_route_about_something_new_fails_by_its_name(api: ServedApi) -> None:
    stray = msgspec.structs.replace(NAMING[0], path="/v1/strays/{id}")
    with pytest.raises(AssertionError, match=re.escape(named(stray))):
        thing_for(Owner(api, "acme", ""), stray)


@pytest.mark.parametrize("route", NAMING, ids=named)
def test_what_is_ones_own_is_there_for_whoever_may(
    api: ServedApi, keys: dict[tuple[str, str], str], route: ApiRoute
) -> None:
    """A role that is too small is told so, and changes nothing; any other gets what it asked for."""
    own = owners(api, keys, "default" if is_shared(route) else "acme")
    for role, owner in own.items():
        thing = thing_for(own[KeyRole.ADMIN], route)
        before = read(own[KeyRole.ADMIN], thing, route)
        reply = owner.call(route.method, thing.path(route), thing.body(route))
        if role.covers(needed(route)):
            assert reply.status in (200, route.status), (role, reply.body)
        else:
            assert reply.status == 403, (role, reply.body)
            assert read(own[KeyRole.ADMIN], thing, route) == before


@pytest.mark.parametrize("route", NAMING, ids=named)
def test_what_is_anothers_is_not_there(api: ServedApi, keys: dict[tuple[str, str], str], route: ApiRoute) -> None:
    """Whatever a stranger tries, it is the answer to something that never was; and the owner finds everything as it was left."""
    tenant, strangers = "default" if is_shared(route) else "acme", owners(api, keys, "other")
    owner = Owner(api, tenant, keys[tenant, "admin"])
    thing = thing_for(owner, route)
    before = read(owner, thing, route)
    for role, stranger in strangers.items():
        reply = stranger.call(route.method, thing.path(route), thing.body(route))
        gone = stranger.call(route.method, missing(route).path(route), missing(route).body(route))
        if is_shared(route) or not role.covers(needed(route)):
            assert (reply.status, gone.status) == (403, 403), role
        elif named(route) in WRITES_ITS_OWN:
            # A name is free in every tenant but the one that has it, so the stranger has written one of its own.
            assert reply.status in (200, 201)
        elif route.path.startswith(EVERYBODYS):
            assert (reply.status, gone.status) == (200, 404)
        else:
            assert (reply.status, gone.status) == (404, 404), (role, reply.body, gone.body)
            assert told(reply, thing) == told(gone, missing(route))
    assert read(owner, thing, route) == before


def told(reply: Reply, thing: Thing) -> str:
    """What an answer says, whatever the thing is called."""
    text = reply.json["detail"]
    for part in sorted({*thing.parts.values(), thing.job_id or ""}, key=len, reverse=True):
        text = text.replace(part, "…") if len(part) > 2 else text
    return re.sub(r"nothing-\d+", "…", text)


@pytest.mark.parametrize("route", NAMING, ids=named)
def test_what_never_was_is_not_there(api: ServedApi, keys: dict[tuple[str, str], str], route: ApiRoute) -> None:
    own = owners(api, keys, "default" if is_shared(route) else "acme")
    for role, owner in own.items():
        thing = missing(route)
        reply = owner.call(route.method, thing.path(route), thing.body(route))
        if not role.covers(needed(route)):
            assert reply.status == 403, (role, reply.body)
        elif route.path.startswith(THERE_WHEN_NAMED) or named(route) in WRITES_ITS_OWN:
            assert reply.status in (200, 201), (role, reply.body)
        elif route.path.endswith(JUDGED_BY_TOKENS):
            assert reply.json["accepted"] == []
        else:
            # A worker that is not known is told to register again.
            assert reply.status == (409 if route.path.startswith("/v1/worker/") else 404), (role, reply.body)


def test_what_is_anothers_is_in_no_list(api: ServedApi, keys: dict[tuple[str, str], str]) -> None:
    """One of everything there is, and nothing of it in any list that a stranger reads."""
    owner, stranger = Owner(api, "acme", keys["acme", "admin"]), Owner(api, "other", keys["other", "admin"])
    things = [thing_for(owner, route) for route in NAMING if not is_shared(route)]
    everybodys = [thing_for(owner, route) for route in NAMING if route.path.startswith(EVERYBODYS)]
    names = {part for thing in things for part in thing.parts.values() if len(part) > 2} - {"acme"}
    public = {part for thing in everybodys for part in thing.parts.values()}
    lists = [route for route in ROUTES if route.method == "GET" and "{" not in route.path and not is_shared(route)]
    for route in lists:
        path = f"{route.path}?limit=500" if "limit" in route.query else route.path
        body = stranger.call("GET", path).body.decode()
        seen = [name for name in names - public if f'"{name}"' in body and not route.path.startswith(EVERYBODYS)]
        assert seen == [], named(route)


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


def test_the_last_admin_of_all_cannot_shut_everybody_out(own_api: ServedApi) -> None:
    (own,) = own_api.call("GET", "/v1/keys").json["items"]
    refused = own_api.call("DELETE", f"/v1/keys/{own['id']}")
    assert (refused.status, refused.json["type"]) == (409, "urn:dueline:problem:conflict")
    assert "make a new one first" in refused.json["detail"]
    new = made(own_api, "admin")
    assert own_api.call("DELETE", f"/v1/keys/{own['id']}", headers=bearer(new["key"])).status == 200
    assert own_api.call("GET", "/v1/keys").status == 401


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
