"""A dedupe key of a job: what it does to runs of it that are asked for."""

import itertools
from typing import Any

import pytest

from dueline.domain.states import RunState
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.working import claim, end

_numbers = itertools.count(1)


@pytest.fixture
def key() -> str:
    return f"job key {next(_numbers)}"


def ask(api: ServedApi, job: Any, **fields: Any) -> Reply:
    return api.call("POST", f"/v1/jobs/{job['id']}/run", fields)


def a_job(api: ServedApi, **fields: Any) -> Any:
    return api.create(queue=f"unique-{next(_numbers)}", overlap="allow", **fields)


def test_a_run_that_brings_no_key_asks_for_that_of_its_job(api: ServedApi, key: str) -> None:
    job = a_job(api, dedupe_key=key)
    assert (job["dedupe_key"], job["on_conflict"]) == (key, "reject")
    first = ask(api, job)
    assert first.status == 201
    second = ask(api, job)
    assert (second.status, second.json["detail"]) == (409, f"the dedupe key is taken by {first.json['id']}")
    other = api.call("POST", "/v1/runs", {"target": TARGET, "dedupe_key": key})
    assert other.status == 409


def test_a_key_of_its_own_takes_the_place_of_the_jobs_and_force_that_of_none(api: ServedApi, key: str) -> None:
    job = a_job(api, dedupe_key=key, on_conflict="ignore")
    first = ask(api, job).json["id"]
    assert (ask(api, job).status, ask(api, job).json["id"]) == (200, first)
    assert ask(api, job, dedupe_key=f"{key}, another").status == 201
    assert ask(api, job, force=True).status == 201
    assert ask(api, job).json["id"] == first


def test_the_window_of_a_job_counts_for_runs_that_ended(own_api: ServedApi, key: str) -> None:
    job = a_job(own_api, dedupe_key=key, dedupe_window="1h")
    assert (job["dedupe_window"], job["dedupe_states"]) == ("PT1H", None)
    first = ask(own_api, job).json["id"]
    end(own_api, claim(own_api, queue=job["queue"]), RunState.SUCCEEDED)
    assert ask(own_api, job).json["detail"] == f"the dedupe key is taken by {first}"
    own_api.call("PATCH", f"/v1/jobs/{job['id']}", {"dedupe_window": None})
    assert ask(own_api, job).status == 201


def test_a_key_is_taken_back_with_all_that_belongs_to_it(api: ServedApi, key: str) -> None:
    job = a_job(api, dedupe_key=key, dedupe_window="1h", dedupe_states=["running", "failed"], on_conflict="ignore")
    assert job["dedupe_states"] == ["running", "failed"]
    path = f"/v1/jobs/{job['id']}"
    changed = api.call("PATCH", path, {"on_conflict": "replace"}).json
    assert (changed["dedupe_window"], changed["dedupe_states"]) == ("PT1H", ["running", "failed"])
    free = api.call("PATCH", path, {"dedupe_key": None}).json
    assert [free[name] for name in free if name.startswith(("dedupe", "on_"))] == [None] * 4
    assert [ask(api, job).status for _ in range(2)] == [201, 201]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"dedupe_window": "1h"}, ["dedupe_window"]),
        ({"on_conflict": "ignore"}, ["on_conflict"]),
        ({"dedupe_key": ""}, ["dedupe_key"]),
        ({"dedupe_key": "k", "dedupe_window": "P31D"}, ["dedupe_window"]),
        ({"dedupe_key": "k", "dedupe_states": ["failed"]}, ["dedupe_window"]),
    ],
)
def test_a_key_that_cannot_be_is_refused(api: ServedApi, fields: dict[str, Any], wrong: list[str]) -> None:
    refused = api.call("POST", "/v1/jobs", {"target": TARGET} | fields)
    assert (refused.status, list(refused.reasons)) == (422, wrong)
