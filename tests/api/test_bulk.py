"""Many jobs or runs in one call: each is answered by itself, or all stand and fall together."""

import json
from typing import Any

import pytest

from dueline.domain import limits
from tests.api.serving import TARGET, Reply, ServedApi

GOOD = {"target": TARGET}
NOUNS = ["jobs", "runs"]


def bulk(api: ServedApi, noun: str, items: Any, **more: Any) -> Reply:
    return api.call("POST", f"/v1/{noun}/bulk", {noun: items, **more})


def job(**fields: Any) -> dict[str, Any]:
    return {"target": TARGET, **fields}


def told(item: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["field"], error["reason"]) for error in item["problem"]["errors"]]


def listed(api: ServedApi, noun: str) -> list[Any]:
    items: list[Any] = api.call("GET", f"/v1/{noun}?limit=500").json["items"]
    return items


def test_many_jobs_are_created_in_order(own_api: ServedApi) -> None:
    asked = [job(name=f"n{n}", schedule=f"{n % 60} {n % 24} * * *", priority=n % 10) for n in range(1_000)]
    reply = bulk(own_api, "jobs", asked)
    made = [item["job"] for item in reply.json["items"]]
    assert (reply.status, reply.json["created"], reply.json["failed"]) == (200, 1_000, 0)
    assert {item["status"] for item in reply.json["items"]} == {201}
    assert [one["name"] for one in made] == [one["name"] for one in asked]
    assert len({one["id"] for one in made}) == 1_000
    for n in (0, 567, 999):
        assert own_api.call("GET", f"/v1/jobs/{made[n]['id']}").json == made[n]


def test_many_runs_are_written_in_order(own_api: ServedApi) -> None:
    asked = [{"target": TARGET, "tags": [f"n{n % 7}"], "priority": n % 10} for n in range(10_000)]
    reply = bulk(own_api, "runs", asked)
    ids = [item["run"]["id"] for item in reply.json["items"]]
    assert (reply.status, reply.json["created"], reply.json["failed"], len(set(ids))) == (200, 10_000, 0, 10_000)
    for n in (0, 4_567, 9_999):
        assert own_api.call("GET", f"/v1/runs/{ids[n]}").json["priority"] == n % 10


BAD: list[tuple[Any, str, str]] = [
    ({}, "target", "required"),
    (5, "", "must be a JSON object"),
    (None, "", "must be a JSON object"),
    (job(quue="x"), "quue", "did you mean queue?"),
    (job(priority=10), "priority", "between 0 and 9"),
    ({"target": {"url": "ftp://x"}}, "target.url", "http://"),
    ({"target": {**TARGET, "body": 1e400}}, "", "not JSON"),
]


@pytest.mark.parametrize("noun", NOUNS)
def test_what_is_wrong_in_itself_leaves_the_others(own_api: ServedApi, noun: str) -> None:
    raw = json.dumps({noun: [GOOD, *(item for item, _, _ in BAD), GOOD]}).replace("Infinity", "1e400")
    reply = own_api.call("POST", f"/v1/{noun}/bulk", raw=raw.encode())
    first, *refused, last = reply.json["items"]
    assert (reply.status, reply.json["created"], reply.json["failed"]) == (200, 2, len(BAD))
    assert {one[noun.removesuffix("s")]["id"] for one in (first, last)} == {one["id"] for one in listed(own_api, noun)}
    for item, (_, field, reason) in zip(refused, BAD, strict=True):
        assert (item["status"], item["problem"]["status"]) == (422, 422)
        assert item["problem"]["type"] == "urn:dueline:problem:invalid"
        assert [name for name, _ in told(item)] == [field or "body"]
        assert reason in told(item)[0][1]


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize(("bad", "field", "reason"), BAD)
def test_all_or_none(api: ServedApi, noun: str, bad: Any, field: str, reason: str) -> None:
    before = listed(api, noun)
    raw = json.dumps({noun: [GOOD, GOOD, GOOD, bad], "atomic": True}).replace("Infinity", "1e400")
    reply = api.call("POST", f"/v1/{noun}/bulk", raw=raw.encode())
    place = f"{noun}[3].{field}" if field else f"{noun}[3]"
    assert (reply.status, list(reply.reasons)) == (422, [place])
    assert reason in reply.reasons[place]
    assert reply.json["instance"] == f"/v1/{noun}/bulk"
    assert listed(api, noun) == before


@pytest.mark.parametrize("noun", NOUNS)
def test_all_of_all_or_none(own_api: ServedApi, noun: str) -> None:
    reply = bulk(own_api, noun, [GOOD] * 3, atomic=True)
    assert (reply.status, reply.json["created"]) == (200, 3)
    assert len(listed(own_api, noun)) == 3


CALLS: list[tuple[Any, dict[str, str]]] = [
    ({"x": [], "atomic": "no"}, {"x": "1 to 10000", "atomic": "true or false"}),
    ({"x": None}, {"x": "a list"}),
    ({"x": {}, "atomc": True}, {"x": "a list", "atomc": "did you mean atomic?"}),
    ({"x": [GOOD], "target": TARGET}, {"target": "unknown field"}),
    ({"x": [GOOD] * 10_001}, {"x": "are 10001"}),
    ([], {"body": "JSON object"}),
]


@pytest.mark.parametrize("noun", NOUNS)
@pytest.mark.parametrize(("body", "reasons"), CALLS)
def test_a_call_that_is_wrong_as_a_whole_is_refused(
    api: ServedApi, noun: str, body: Any, reasons: dict[str, str]
) -> None:
    named = {noun if name == "x" else name: value for name, value in body.items()} if body else body
    reply = api.call("POST", f"/v1/{noun}/bulk", raw=json.dumps(named).encode())
    expected = {noun if field == "x" else field: reason for field, reason in reasons.items()}
    assert (reply.status, reply.reasons.keys()) == (422, expected.keys())
    assert all(reason in reply.reasons[field] for field, reason in expected.items())


@pytest.mark.parametrize("noun", NOUNS)
def test_a_call_without_items_is_refused(api: ServedApi, noun: str) -> None:
    assert api.call("POST", f"/v1/{noun}/bulk", {}).reasons == {noun: "is required"}
    for raw in (b"", b"{", b'{"jobs": [tru]}', b'{"runs": ["\xff"], "jobs": ["\xff"'):
        assert api.call("POST", f"/v1/{noun}/bulk", raw=raw).status == 400


@pytest.mark.parametrize("noun", NOUNS)
def test_as_many_as_a_call_may_have_are_taken(own_api: ServedApi, noun: str) -> None:
    most = {"jobs": limits.JOBS_PER_CALL_MAX, "runs": limits.RUNS_PER_CALL_MAX}[noun]
    assert bulk(own_api, noun, [GOOD] * most).json["created"] == most


@pytest.mark.parametrize("noun", NOUNS)
def test_however_much_is_wrong_the_answer_stays_small(api: ServedApi, noun: str) -> None:
    for bad in ({"target": {"url": "x"}}, {"x": 1}, 5):
        reply = bulk(api, noun, [bad] * 10_000, atomic=True)
        assert (reply.status, len(reply.json["errors"])) == (422, limits.PROBLEMS_MAX)
    reply = bulk(api, noun, [{f"x{n}": n for n in range(50)}] * 20)
    assert {len(told(item)) for item in reply.json["items"]} == {limits.PROBLEMS_PER_ITEM_MAX}


def test_a_name_that_is_taken_leaves_the_others(own_api: ServedApi) -> None:
    own_api.create(name="taken")
    reply = bulk(own_api, "jobs", [job(name="a"), job(name="taken"), job(name="twin"), job(name="twin")])
    assert [item["status"] for item in reply.json["items"]] == [201, 409, 201, 409]
    assert told(reply.json["items"][1]) == [("name", "'taken' is taken")]
    assert reply.json["items"][3]["problem"]["type"] == "urn:dueline:problem:conflict"
    assert {one["name"] for one in listed(own_api, "jobs")} == {"taken", "a", "twin"}


def test_of_all_or_none_a_taken_name_leaves_nothing(own_api: ServedApi) -> None:
    own_api.create(name="taken")
    reply = bulk(own_api, "jobs", [job(name="a"), job(name="taken"), job(name="twin"), job(name="twin")], atomic=True)
    assert (reply.status, reply.json["type"]) == (409, "urn:dueline:problem:conflict")
    assert reply.reasons == {"jobs[1].name": "'taken' is taken", "jobs[3].name": "'twin' is taken"}
    assert [one["name"] for one in listed(own_api, "jobs")] == ["taken"]
    both = bulk(own_api, "jobs", [job(name="taken"), job(queue="a b")], atomic=True)
    assert (both.status, list(both.reasons)) == (422, ["jobs[1].queue"])


@pytest.mark.parametrize("atomic", [False, True])
def test_jobs_of_one_call_may_name_calendars(own_api: ServedApi, atomic: bool) -> None:
    own_api.call("PUT", "/v1/calendars/days", {"dates": ["12-25"]})
    own_api.call("PUT", "/v1/calendars/all", {"dates": ["01-01/12-31"]})
    good = job(schedule={"cron": "0 9 25 12 *", "calendars": ["days"], "on_excluded": "after"})
    unknown = job(schedule={"cron": "0 9 * * *", "calendars": ["days", "none"]})
    never = job(schedule={"cron": "0 9 25 12 *", "calendars": ["days"]})
    reply = bulk(own_api, "jobs", [good, unknown, never, good], atomic=atomic)
    if atomic:
        assert reply.reasons.keys() == {"jobs[1].schedule.calendars[1]", "jobs[2].schedule"}
        assert listed(own_api, "jobs") == []
        return
    assert [item["status"] for item in reply.json["items"]] == [201, 422, 422, 201]
    assert told(reply.json["items"][1]) == [("schedule.calendars[1]", "there is no calendar 'none'")]
    assert told(reply.json["items"][2])[0][0] == "schedule"
    assert reply.json["items"][0]["job"]["next_due_at"][5:10] == "12-26"


def test_nothing_but_refusals_is_an_answer_too(api: ServedApi) -> None:
    for noun in NOUNS:
        reply = bulk(api, noun, [5])
        assert (reply.status, reply.json["created"], reply.json["failed"]) == (200, 0, 1)


def test_one_run_is_no_bulk_call(api: ServedApi) -> None:
    assert api.call("POST", "/v1/runs", {"runs": [GOOD]}).reasons.keys() == {"runs", "target"}
    assert api.call("GET", "/v1/jobs/bulk").status == 405
