"""Lists in pages: complete, without repeats, and with cursors that belong to their query."""

from itertools import pairwise
from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi


def all_of(api: ServedApi, path: str) -> list[Any]:
    return [identifier for page in pages(api, path) for identifier in page]


def pages(api: ServedApi, path: str) -> list[list[Any]]:
    """All pages of a list, as ids."""
    found, cursor = [], ""
    while True:
        page = api.call("GET", path + cursor).json
        found.append([item["id"] for item in page["items"]])
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_pages_of_jobs_are_complete_and_newest_first(own_api: ServedApi) -> None:
    created = [own_api.create(queue=f"q{n % 2}", tags=[f"t{n % 3}"], name=f"job-{n:02}")["id"] for n in range(23)]
    found = pages(own_api, "/v1/jobs?limit=5")
    assert [len(page) for page in found] == [5, 5, 5, 5, 3]
    assert [identifier for page in found for identifier in page] == sorted(created, reverse=True)
    odd = all_of(own_api, "/v1/jobs?limit=4&queue=q1&tag=t0")
    assert sorted(odd) == sorted(created[n] for n in range(23) if n % 2 and n % 3 == 0)
    assert all_of(own_api, "/v1/jobs?limit=3&name_prefix=job-1") == created[10:20]
    assert [len(page) for page in pages(own_api, "/v1/jobs?limit=23")] == [23]


def test_what_is_created_while_paging_does_not_disturb_it(own_api: ServedApi) -> None:
    created = [own_api.create()["id"] for _ in range(4)]
    first = own_api.call("GET", "/v1/jobs?limit=2").json
    own_api.create()
    rest = own_api.call("GET", f"/v1/jobs?limit=50&cursor={first['next_cursor']}").json
    assert [job["id"] for job in first["items"] + rest["items"]] == sorted(created, reverse=True)


def test_pages_of_runs_cover_live_and_finished_ones(own_api: ServedApi) -> None:
    job = own_api.create()
    cancelled = [own_api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"] for _ in range(5)]
    own_api.call("DELETE", f"/v1/jobs/{job['id']}")
    bulk = own_api.call("POST", "/v1/runs/bulk", {"runs": [{"target": TARGET}] * 6}).json["items"]
    found = all_of(own_api, "/v1/runs?limit=3")
    assert sorted(found) == sorted([*cancelled, *(item["run"]["id"] for item in bulk)])
    assert all(one > other for one, other in pairwise(found))
    assert sorted(all_of(own_api, "/v1/runs?limit=2&state=cancelled")) == sorted(cancelled)
    assert sorted(all_of(own_api, f"/v1/runs?limit=2&job_id={job['id']}")) == sorted(cancelled)


def test_a_cursor_of_another_query_is_refused(own_api: ServedApi) -> None:
    for _ in range(2):
        own_api.create(queue="q")
        own_api.call("POST", "/v1/runs", {"target": TARGET})
    of_all = own_api.call("GET", "/v1/jobs?limit=1").json["next_cursor"]
    of_queue = own_api.call("GET", "/v1/jobs?limit=1&queue=q").json["next_cursor"]
    of_runs = own_api.call("GET", "/v1/runs?limit=1").json["next_cursor"]
    for path in (
        f"/v1/jobs?queue=q&cursor={of_all}",
        f"/v1/jobs?cursor={of_queue}",
        f"/v1/jobs?cursor={of_runs}",
        f"/v1/runs?cursor={of_all}",
        f"/v1/runs?kind=adhoc&cursor={of_runs}",
    ):
        reply = own_api.call("GET", path)
        assert (reply.status, list(reply.reasons)) == (422, ["cursor"])
        assert "another query" in reply.reasons["cursor"]
    assert own_api.call("GET", f"/v1/jobs?queue=q&limit=7&cursor={of_queue}").status == 200


@pytest.mark.parametrize("damage", ["x", "AAAA", "A" * 34, "A" * 33, "_" * 200])
def test_a_damaged_cursor_is_refused(own_api: ServedApi, damage: str) -> None:
    reply = own_api.call("GET", f"/v1/jobs?cursor={damage}")
    assert (reply.status, list(reply.reasons)) == (422, ["cursor"])


@pytest.mark.parametrize(("limit", "rows"), [("1", 1), ("0", 1), ("-5", 1), ("3", 3), ("1000000", 4), ("9" * 30, 4)])
def test_a_limit_is_brought_into_bounds(api: ServedApi, limit: str, rows: int) -> None:
    tag = f"limit{limit[:8]}"
    for _ in range(4):
        api.create(tags=[tag])
    assert len(api.call("GET", f"/v1/jobs?tag={tag}&limit={limit}").json["items"]) == rows


def test_filters_of_jobs(own_api: ServedApi) -> None:
    paused = own_api.create(name="paused one", queue="a")["id"]
    active = own_api.create(name="%_odd'\"", queue="b", tags=["x", "y"])["id"]
    own_api.call("POST", f"/v1/jobs/{paused}/pause")

    def found(query: str) -> list[str]:
        return [job["id"] for job in own_api.call("GET", f"/v1/jobs?{query}").json["items"]]

    assert found("state=paused") == [paused]
    assert found("state=active") == [active]
    assert found("queue=a") == [paused]
    assert found("tag=y") == [active]
    assert found("tag=z") == []
    assert found("target_type=http") == [active, paused]
    assert found("name_prefix=paused%20o") == [paused]
    assert found("name_prefix=%25_") == [active]
    assert found("name_prefix=_") == []
    assert found("state=active&queue=a") == []
    task = own_api.create(target={"task": "add"})["id"]
    assert found("target_type=task") == [task]


@pytest.mark.parametrize(
    "path",
    [
        *("runs?job_id", "runs?state", "runs?from", "jobs?limit", "forecast?hours", "recovery?rate", "keys?tenant"),
        *("events?run_id", "events?wait", "events?type", "jobs/job_01h455vb4pex5vsknk084sn02q/versions/2/diff?against"),
    ],
)
def test_a_parameter_that_was_to_hold_something_is_not_empty(api: ServedApi, path: str) -> None:
    reply = api.call("GET", f"/v1/{path}=")
    assert (reply.status, list(reply.reasons.values())) == (422, ["is empty: leave it out, or give it a value"])


def test_an_empty_text_filters_nothing(api: ServedApi) -> None:
    assert api.call("GET", "/v1/jobs?queue=&tag=&name_prefix=&cursor=").status == 200
