"""What is left of a quota of requests, told with every answer to one that counts."""

import re

import pytest

from tests.api.serving import TARGET, Reply, ServedApi

LEFT = re.compile(r'"run_now_per_minute";r=(\d+);t=(\d+)')
RUN = {"target": TARGET}


@pytest.fixture
def limited(own_api: ServedApi) -> ServedApi:
    """Five runs may be asked for in a minute."""
    assert own_api.call("PUT", "/v1/tenants/default", {"quotas": {"run_now_per_minute": 5}}).status == 200
    return own_api


def left(reply: Reply) -> tuple[int, int]:
    assert reply.headers["ratelimit-policy"] == '"run_now_per_minute";q=5;w=60'
    found = LEFT.fullmatch(reply.headers["ratelimit"])
    assert found is not None
    return int(found[1]), int(found[2])


def test_what_counts_is_told_what_is_left(limited: ServedApi) -> None:
    job = limited.create()
    # A token comes back every twelve seconds: none does while this runs, unless it takes that long.
    assert left(limited.call("POST", "/v1/runs", RUN)) == (4, 12)
    assert left(limited.call("POST", f"/v1/jobs/{job['id']}/run"))[0] == 3
    assert left(limited.call("POST", "/v1/runs/bulk", {"runs": [RUN, RUN]}))[0] == 1
    refused = limited.call("POST", "/v1/runs/bulk", {"runs": [RUN, RUN]})
    assert (refused.status, left(refused)[0]) == (429, 1)
    assert int(refused.headers["retry-after"]) <= 12
    assert left(limited.call("POST", "/v1/runs", RUN))[0] == 0


def test_what_does_not_count_is_told_nothing(limited: ServedApi) -> None:
    run_id = limited.call("POST", "/v1/runs", RUN).json["id"]
    for method, path in (("GET", "/v1/jobs"), ("GET", f"/v1/runs/{run_id}"), ("POST", f"/v1/runs/{run_id}/cancel")):
        reply = limited.call(method, path)
        assert reply.status == 200
        assert not {"ratelimit", "ratelimit-policy"} & reply.headers.keys()


def test_who_has_no_quota_is_told_nothing(own_api: ServedApi) -> None:
    assert "ratelimit" not in own_api.call("POST", "/v1/runs", RUN).headers


def test_an_answer_that_is_given_again_tells_nothing_old(limited: ServedApi) -> None:
    key = {"Idempotency-Key": "once"}
    first = limited.call("POST", "/v1/runs", RUN, headers=key)
    again = limited.call("POST", "/v1/runs", RUN, headers=key)
    assert left(first)[0] == 4
    assert (again.body, "ratelimit" in again.headers) == (first.body, False)
