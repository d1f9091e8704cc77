"""Limits over HTTP: what jobs and runs say of themselves, and what is set for queues and hosts."""

from typing import Any

import pytest

from dueline.domain.gates import Wish
from dueline.domain.ids import BootId
from dueline.store.protocol import Store
from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter
from tests.support.stores import a_run, claim, enqueue, register

PAYLOAD = {"url": TARGET["url"], "body": {"customer": "ada", "n": 7, "lines": [{"sku": "x"}], "none": None}}


def rate(**fields: Any) -> Any:
    return {"rate": {"limit": 1, **fields}}


GOOD: list[tuple[Any, Any]] = [
    ({"concurrency": 1}, {"limit": 1, "key": None}),
    ({"concurrency": 10_000}, {"limit": 10_000, "key": None}),
    ({"concurrency": {"limit": 5}}, {"limit": 5, "key": None}),
    ({"concurrency": {"limit": 1, "key": "k" * 255}}, {"limit": 1, "key": "k" * 255}),
    (
        {"concurrency": {"limit": 5, "key": "{{body.customer}}/{{ body.lines.0.sku }}/{{job.id}}"}},
        {"limit": 5, "key": "{{body.customer}}/{{ body.lines.0.sku }}/{{job.id}}"},
    ),
    (rate(), {"limit": 1, "per": "PT1S", "burst": 1, "key": None}),
    (rate(limit=20), {"limit": 20, "per": "PT1S", "burst": 20, "key": None}),
    (rate(per="100ms"), {"limit": 1, "per": "PT0.1S", "burst": 1, "key": None}),
    (rate(per="1d"), {"limit": 1, "per": "P1D", "burst": 1, "key": None}),
    (rate(limit=100_000, per="100ms"), {"limit": 100_000, "per": "PT0.1S", "burst": 100_000, "key": None}),
    (rate(limit=1_000_000), {"limit": 1_000_000, "per": "PT1S", "burst": 1_000_000, "key": None}),
    (rate(burst=1_000_000), {"limit": 1, "per": "PT1S", "burst": 1_000_000, "key": None}),
    (rate(burst=None, key="{{body.n}}"), {"limit": 1, "per": "PT1S", "burst": 1, "key": "{{body.n}}"}),
]

BAD: list[tuple[Any, str, str]] = [
    ({"concurrency": 0}, "concurrency", "between 1 and 10000"),
    ({"concurrency": 10_001}, "concurrency", "between 1 and 10000"),
    ({"concurrency": True}, "concurrency", "a whole number or an object or null"),
    ({"concurrency": "5"}, "concurrency", "not text"),
    ({"concurrency": {}}, "concurrency.limit", "is required"),
    ({"concurrency": {"limit": 0}}, "concurrency.limit", "between 1 and 10000"),
    ({"concurrency": {"limit": 10_001}}, "concurrency.limit", "between 1 and 10000"),
    ({"concurrency": {"limit": 1, "keys": "a"}}, "concurrency.keys", "did you mean key?"),
    ({"concurrency": {"limit": 1, "key": ""}}, "concurrency.key", "1 to 255 letters"),
    ({"concurrency": {"limit": 1, "key": "k" * 256}}, "concurrency.key", "1 to 255 letters"),
    ({"concurrency": {"limit": 1, "key": "a\n"}}, "concurrency.key", "control characters"),
    ({"concurrency": {"limit": 1, "key": 5}}, "concurrency.key", "text"),
    ({"concurrency": {"limit": 1, "key": "{{body.custmer}}"}}, "concurrency.key", "nothing that the run has"),
    ({"concurrency": {"limit": 1, "key": "{{args.customer}}"}}, "concurrency.key", "body.FIELD"),
    ({"concurrency": {"limit": 1, "key": "{{body.lines}}"}}, "concurrency.key", "a text, a number or a boolean"),
    ({"concurrency": {"limit": 1, "key": "{{body.none}}"}}, "concurrency.key", "a text, a number or a boolean"),
    ({"concurrency": {"limit": 1, "key": "x{{run.id}}"}}, "concurrency.key", "at letter 2"),
    ({"rate": 5}, "rate", "an object"),
    ({"rate": {}}, "rate.limit", "is required"),
    (rate(limit=0), "rate.limit", "between 1 and 1000000"),
    (rate(limit=1_000_001, per="1d"), "rate.limit", "between 1 and 1000000"),
    (rate(limit=100_001, per="100ms"), "rate.limit", "one in a microsecond"),
    (rate(per="99ms"), "rate.per", "between PT0.1S and P1D"),
    (rate(per="P1DT0.001S"), "rate.per", "between PT0.1S and P1D"),
    (rate(per="1M"), "rate.per", "not a duration"),
    (rate(burst=0), "rate.burst", "between 1 and 1000000"),
    (rate(burst=1_000_001), "rate.burst", "between 1 and 1000000"),
    (rate(key="{{body.gone}}"), "rate.key", "nothing that the run has"),
]


@pytest.mark.parametrize(("written", "read"), GOOD)
def test_a_job_answers_its_limits_in_one_form(api: ServedApi, written: Any, read: Any) -> None:
    job = api.create(target=PAYLOAD, **written)
    ((field, _),) = written.items()
    assert job[field] == read
    assert api.call("GET", f"/v1/jobs/{job['id']}").json == job
    again = api.call("PUT", f"/v1/jobs/{job['id']}", {"target": PAYLOAD, field: read, "name": job["name"]}).json
    assert (again[field], again["version"]) == (read, 1)


@pytest.mark.parametrize(("written", "field", "reason"), BAD)
def test_a_limit_that_cannot_be_is_refused(api: ServedApi, written: Any, field: str, reason: str) -> None:
    for path in ("/v1/jobs", "/v1/runs"):
        reply = api.call("POST", path, {"target": PAYLOAD, **written})
        assert reply.status == 422
        assert reason in reply.reasons[field]
    job = api.create(target=PAYLOAD)
    assert list(api.call("PATCH", f"/v1/jobs/{job['id']}", written).reasons) == [field]


@pytest.mark.parametrize(
    ("written", "overlap"),
    [
        ({}, "skip"),
        ({"concurrency": 5}, "allow"),
        ({"concurrency": 5, "overlap": "queue_one"}, "queue_one"),
        ({"concurrency": None}, "skip"),
        ({"rate": {"limit": 5}}, "skip"),
    ],
)
def test_runs_that_may_be_several_may_overlap_unless_somebody_says_otherwise(
    api: ServedApi, written: Any, overlap: str
) -> None:
    assert api.create(target=PAYLOAD, **written)["overlap"] == overlap


def test_a_run_without_a_job_needs_a_key(api: ServedApi) -> None:
    bare = {"target": PAYLOAD, "concurrency": 2, "rate": {"limit": 5}}
    reasons = api.call("POST", "/v1/runs", bare).reasons
    assert list(reasons) == ["concurrency.key", "rate.key"]
    assert "required for a run without a job" in reasons["rate.key"]
    key = "{{tenant}}/{{body.customer}}"
    keyed = {"target": PAYLOAD, "concurrency": {"limit": 2, "key": key}, "rate": {"limit": 5, "key": key}}
    assert api.call("POST", "/v1/runs", keyed).status == 201
    assert list(api.call("POST", "/v1/runs/bulk", {"runs": [keyed, bare], "atomic": True}).reasons) == [
        "runs[1].concurrency.key",
        "runs[1].rate.key",
    ]
    of_a_job = {"target": PAYLOAD, "concurrency": {"limit": 2, "key": "{{job.name}}"}}
    assert "nothing that the run has" in api.call("POST", "/v1/runs", of_a_job).reasons["concurrency.key"]


def test_keys_of_a_task_are_of_its_arguments(api: ServedApi) -> None:
    target = {"task": "mail", "args": {"customer": "ada"}}
    keyed = {"target": target, "concurrency": {"limit": 1, "key": "{{args.customer}}"}}
    assert api.call("POST", "/v1/runs", keyed).status == 201
    job = api.create(**keyed)
    reasons = api.call("PATCH", f"/v1/jobs/{job['id']}", {"target": {"args": {"customer": None}}}).reasons
    assert list(reasons) == ["concurrency.key"], "a key is checked against the payload that is there after the edit"
    assert "args.FIELD" in reasons["concurrency.key"]


def test_a_bad_payload_is_told_without_its_consequences(api: ServedApi) -> None:
    asked = {"target": {"url": "ftp://x/"}, "concurrency": {"limit": 0, "key": "{{body.a}}"}}
    assert list(api.call("POST", "/v1/jobs", asked).reasons) == ["target.url", "concurrency.limit"]


def test_a_patch_changes_members_of_limits_and_takes_them_away(api: ServedApi) -> None:
    job = api.create(concurrency={"limit": 5, "key": "k"}, rate={"limit": 100, "per": "1m"})

    def patched(**fields: Any) -> Any:
        return api.call("PATCH", f"/v1/jobs/{job['id']}", fields).json

    assert patched(concurrency={"limit": 3})["concurrency"] == {"limit": 3, "key": "k"}
    assert patched(concurrency=4)["concurrency"] == {"limit": 4, "key": None}
    assert patched(rate={"limit": 50})["rate"] == {"limit": 50, "per": "PT1M", "burst": 100, "key": None}
    assert patched(rate={"burst": None})["rate"]["burst"] == 50
    gone = patched(concurrency=None, rate=None)
    assert (gone["concurrency"], gone["rate"]) == (None, None)


def test_a_dead_letter_tells_its_limits_and_a_correction_must_fit_them(api: ServedApi) -> None:
    limited: dict[str, Any] = {
        "concurrency": {"limit": 2, "key": "{{body.customer}}"},
        "rate": {"limit": 9, "burst": 1, "key": "k"},
    }
    dead = a_dead_letter(api, target=PAYLOAD, **limited)
    executed = api.call("GET", f"/v1/dead-letters/{dead}").json["executed"]
    assert executed["concurrency"] == limited["concurrency"]
    assert executed["rate"] == {"limit": 9, "per": "PT1S", "burst": 1, "key": "k"}
    redrive = f"/v1/dead-letters/{dead}/redrive"
    assert list(api.call("POST", redrive, {"target": TARGET}).reasons) == ["executed.concurrency.key"]
    assert api.call("POST", redrive, {"target": PAYLOAD}).status == 201


def put(api: ServedApi, place: str, **limit: Any) -> Any:
    reply = api.call("PUT", f"/v1/limits/{place}", limit)
    assert reply.status == 200, reply.body
    return reply.json


def test_a_limit_is_set_read_replaced_and_taken_away(api: ServedApi) -> None:
    made = put(api, "queue/mail", concurrency=10, rate={"limit": 100, "per": "1m"})
    assert made == {
        "scope": "queue",
        "name": "mail",
        "concurrency": 10,
        "rate": {"limit": 100, "per": "PT1M", "burst": 100},
        "running": 0,
        "updated_at": made["updated_at"],
    }
    assert api.call("GET", "/v1/limits/queue/mail").json == made
    again = put(api, "queue/mail", rate={"limit": 5, "burst": 1})
    assert (again["concurrency"], again["rate"]) == (None, {"limit": 5, "per": "PT1S", "burst": 1})
    assert again["updated_at"] >= made["updated_at"]
    assert api.call("GET", "/v1/limits/host/mail").status == 404
    assert api.call("DELETE", "/v1/limits/queue/mail").status == 204
    assert api.call("DELETE", "/v1/limits/queue/mail").status == 404
    assert api.call("GET", "/v1/limits/queue/mail").status == 404


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("API.Example.com", "api.example.com"),
        ("api.example.com:8443", "api.example.com:8443"),
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("%5B::1%5D:80", "[::1]:80"),
    ],
)
def test_a_host_is_named_as_urls_name_it(api: ServedApi, written: str, name: str) -> None:
    assert put(api, f"host/{written}", concurrency=1)["name"] == name
    assert api.call("GET", f"/v1/limits/host/{written}").json["name"] == name
    assert api.call("DELETE", f"/v1/limits/host/{written}").status == 204


@pytest.mark.parametrize(
    "place",
    [
        *("queue/a%20b", "queue/" + "q" * 101, "queue/%00", "queue/%C3%A9"),
        *("host/a%20b", "host/a:99999", "host/u@h", "host/h%3Fx", "host/h%23x", "host/%00", "host/:80", "host/1.2"),
        *("host/%7B%7Btenant%7D%7D.test", "host/" + "h" * 300),
    ],
)
def test_a_bad_name_is_refused_or_has_no_limit(api: ServedApi, place: str) -> None:
    assert list(api.call("PUT", f"/v1/limits/{place}", {"concurrency": 1}).reasons) == ["name"]
    assert api.call("GET", f"/v1/limits/{place}").status == 404
    assert api.call("DELETE", f"/v1/limits/{place}").status == 404


@pytest.mark.parametrize("scope", ["job", "key", "tenant", "queues", "%00"])
def test_other_scopes_are_not_set_here(api: ServedApi, scope: str) -> None:
    refused = api.call("PUT", f"/v1/limits/{scope}/x", {"concurrency": 1})
    assert refused.reasons == {"scope": "must be host or queue"}
    assert api.call("GET", f"/v1/limits/{scope}/x").status == 404
    assert api.call("DELETE", f"/v1/limits/{scope}/x").status == 404


@pytest.mark.parametrize(
    ("body", "field", "reason"),
    [
        ({}, "body", "concurrency, rate, or both"),
        ({"concurrency": None, "rate": None}, "body", "concurrency, rate, or both"),
        ({"concurrency": 0}, "concurrency", "between 1 and 10000"),
        ({"concurrency": 10_001}, "concurrency", "between 1 and 10000"),
        ({"concurrency": {"limit": 1}}, "concurrency", "a whole number or null"),
        ({"rate": {"limit": 0}}, "rate.limit", "between 1 and 1000000"),
        ({"rate": {"limit": 1, "key": "k"}}, "rate.key", "unknown field"),
        ({"max_start_rate": 5}, "max_start_rate", "unknown field"),
        ([], "body", "JSON object"),
    ],
)
def test_a_bad_limit_is_refused(api: ServedApi, body: Any, field: str, reason: str) -> None:
    reply = api.call("PUT", "/v1/limits/queue/bad", body)
    assert (reply.status, list(reply.reasons)) == (422, [field])
    assert reason in reply.reasons[field]
    assert api.call("GET", "/v1/limits/queue/bad").status == 404


def test_limits_are_listed_by_scope_and_name(own_api: ServedApi) -> None:
    places = ["queue/b", "host/z.test:1", "queue/Z", "host/a.test", "queue/a.1", "queue/a-2"]
    for place in places:
        put(own_api, place, concurrency=1)
    found: list[str] = []
    cursor = ""
    while True:
        page = own_api.call("GET", f"/v1/limits?limit=2{cursor}").json
        found += [f"{one['scope']}/{one['name']}" for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == sorted(places)
    assert "cursor" in own_api.call("GET", "/v1/limits?cursor=x").reasons


async def _pass_one(store: Store, api_limit: Any) -> None:
    """Have one run pass the gate of a host."""
    (limit,) = [one for one in await store.limits() if one.name == api_limit["name"]]
    await register(store, BootId("w"))
    await enqueue(store, a_run(), a_run())
    first, *_ = await claim(store, BootId("w"), limit=2)
    assert await store.enter([Wish(first.run_id, first.token, (limit.gate,))], ahead_ms=0)


def test_a_limit_tells_how_many_have_a_place(own_api: ServedApi) -> None:
    limit = put(own_api, "host/slow.test", concurrency=2)
    own_api.on_store(lambda store: _pass_one(store, limit))
    assert own_api.call("GET", "/v1/limits/host/slow.test").json["running"] == 1
    assert own_api.call("GET", "/v1/limits").json["items"][0]["running"] == 1
