"""What comes, over HTTP."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.api.serving import ServedApi


def test_the_next_occurrences_of_a_job_are_paged(own_api: ServedApi) -> None:
    job = own_api.create(name="hourly", schedule={"cron": "0 * * * *", "timezone": "Europe/Berlin"})
    path = f"/v1/jobs/{job['id']}/upcoming"
    first = own_api.call("GET", f"{path}?limit=2").json
    one = first["items"][0]
    assert one["scheduled_at"] == job["next_due_at"]
    assert (one["job_id"], one["job_name"], one["due_at"], one["note"]) == (
        job["id"],
        "hourly",
        one["scheduled_at"],
        None,
    )
    assert datetime.fromisoformat(one["local"]) == datetime.fromisoformat(one["scheduled_at"])
    rest = own_api.call("GET", f"{path}?limit=2&cursor={first['next_cursor']}").json
    times = [datetime.fromisoformat(one["scheduled_at"]) for one in first["items"] + rest["items"]]
    assert [later - earlier for earlier, later in pairwise(times)] == [timedelta(hours=1)] * 3
    assert own_api.call("GET", f"/v1/jobs/job_{'0' * 26}/upcoming").status == 404


def test_what_comes_is_told_of_all_jobs_and_every_page_goes_on(own_api: ServedApi) -> None:
    for name, minute in (("a", 1), ("b", 2), ("c", 1)):
        own_api.create(name=name, schedule={"cron": f"{minute} * * * *"}, tags=[name])
    now = datetime.now(UTC)
    tomorrow = (now + timedelta(days=1)).strftime("%Y-%m-%dT00:00:00Z")
    after = (now + timedelta(days=1)).strftime("%Y-%m-%dT03:00:00Z")
    path, items, cursor = f"/v1/upcoming?from={tomorrow}&to={after}&limit=2", [], ""
    while True:
        page: Any = own_api.call("GET", path + cursor).json
        items += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert [one["scheduled_at"][11:16] for one in items] == [
        f"0{hour}:0{minute}" for hour in range(3) for minute in (1, 1, 2)
    ]
    assert sorted(one["job_name"] for one in items) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    tagged = own_api.call("GET", f"/v1/upcoming?from={tomorrow}&to={after}&tag=b").json["items"]
    assert {one["job_name"] for one in tagged} == {"b"}
    assert len(own_api.call("GET", "/v1/upcoming").json["items"]) >= 50, "a day of them"


def test_what_is_wrong_with_the_query_is_named(api: ServedApi) -> None:
    for query, field in (
        ("from=soon", "from"),
        ("from=2099-01-02T00:00:00Z&to=2099-01-01T00:00:00Z", "to"),
        ("target_type=ftp", "target_type"),
        ("cursor=x", "cursor"),
        ("nme=x", "nme"),
    ):
        reply = api.call("GET", f"/v1/upcoming?{query}")
        assert (reply.status, set(reply.reasons)) == (422, {field})
