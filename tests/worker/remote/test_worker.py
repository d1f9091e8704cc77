"""A worker that asks a server for runs: what it starts, what it tells, what it gives back, and what it leaves alone."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from dueline.domain import limits
from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId
from dueline.runtime.signals import Stop
from dueline.worker.executors.http import CONNECTIONS_PER_HOST_MAX
from dueline.worker.executors.widths import PLACES_AT_FIRST, SILENT_S
from tests.api.serving import ServedApi
from tests.support.stores import a_reclaim
from tests.support.target import Answer, Target
from tests.support.task_app import app
from tests.worker.remote.conftest import Hire
from tests.worker.remote.hiring import PATIENCE_S, Hired, enqueue, run, states, until


def http(target: Target, path: str = "/ok", **fields: object) -> dict[str, object]:
    return {"url": target.url + path, **fields}


def lasting(hired: Hired, stop: Stop) -> asyncio.Task[None]:
    return asyncio.create_task(hired.worker.last(stop))


async def ended(task: asyncio.Task[None]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await task


async def test_calls_are_made_and_told(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire()
    (good,) = enqueue(api, http(target, "/echo", body={"a": 1}))
    (bad,) = enqueue(api, http(target, "/status/400"))
    assert await hired.lease() == 0
    await hired.report()
    assert {hit.path: hit.body for hit in target.hits} == {"/echo": b'{"a":1}', "/status/400": b""}
    done = run(api, good)
    assert (done["state"], done["attempt"], done["worker"]) == ("succeeded", 1, hired.desk.id)
    assert run(api, bad)["error"] == "the target answered 400"


async def test_tasks_are_carried_out_and_told(api: ServedApi, hire: Hire) -> None:
    hired = await hire(app=app)
    (added,) = enqueue(api, {"type": "task", "task": "add", "args": {"a": 2}})
    (later,) = enqueue(api, {"type": "task", "task": "retry_in_hours"})
    (failed,) = enqueue(api, {"type": "task", "task": "fail"})
    while len(hired.worker._flights) + len(hired.worker._reports) < 2:
        await hired.lease()
    await hired.report()
    await hired.lease()
    await hired.report()
    assert (run(api, added)["state"], run(api, added)["attempts"][0]["result"]) == ("succeeded", "3")
    assert run(api, failed)["state"] == "failed"
    assert run(api, later)["state"] == "retrying", "the time that a task names is taken by the server too"


async def test_no_more_is_asked_for_than_there_are_slots(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire(slots=2)
    enqueue(api, http(target, "/hang"), 3)
    await hired.lease()
    assert await hired.lease() == limits.POLL_S
    await target.wait_for_hits(2)
    assert len(hired.worker._flights) == 2


async def test_what_an_answer_brought_that_got_lost_goes_back_and_costs_no_attempt(
    api: ServedApi, hire: Hire, target: Target
) -> None:
    hired = await hire()
    (under_way,) = enqueue(api, http(target, "/slow/0.2"))
    await hired.lease()
    lost = enqueue(api, http(target), 3)
    hired.lose_the_answer()
    with pytest.raises(StoreUnavailable):
        await hired.lease()
    assert states(api, lost) == {"running"}
    await hired.lease()
    await hired.report()
    assert states(api, [under_way, *lost]) == {"succeeded"}
    assert {run(api, run_id)["attempt"] for run_id in [under_way, *lost]} == {1}
    assert target.hits_total == 4


async def test_without_a_trusted_lease_nothing_is_asked_for(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire()
    (run_id,) = enqueue(api, http(target))
    hired.outlive_the_lease()
    assert await hired.lease() == limits.POLL_S
    assert run(api, run_id)["state"] == "ready"


async def test_what_comes_when_the_lease_is_over_is_not_started_and_goes_back(
    api: ServedApi, hire: Hire, target: Target
) -> None:
    hired = await hire()
    (run_id,) = enqueue(api, http(target))
    hired.desk.meets = hired.outlive_the_lease
    with capture_logs() as logs:
        await hired.lease()
    assert [entry["event"] for entry in logs] == ["lease not trusted, runs not started"]
    assert (len(hired.worker._flights), run(api, run_id)["state"]) == (0, "running")
    await hired.beat()
    await hired.lease()
    await hired.report()
    assert (run(api, run_id)["state"], run(api, run_id)["attempt"], target.hits_total) == ("succeeded", 1, 1)


async def test_a_call_that_waits_when_the_lease_is_over_is_not_made_and_goes_back(
    api: ServedApi, hire: Hire, target: Target
) -> None:
    hired = await hire(slots=300)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    target.on("/wait", lambda _: answer)
    run_ids = enqueue(api, http(target, "/wait"), CONNECTIONS_PER_HOST_MAX + 4)
    await hired.lease()
    places = PLACES_AT_FIRST
    while places < CONNECTIONS_PER_HOST_MAX:
        await target.wait_for_hits(places)
        hired.clock.advance(2 * SILENT_S)
        places *= 2
    await target.wait_for_hits(CONNECTIONS_PER_HOST_MAX)
    hired.outlive_the_lease()
    answer.set_result(Answer())
    await hired.report()
    assert target.hits_total == CONNECTIONS_PER_HOST_MAX
    assert sorted(run(api, run_id)["state"] for run_id in run_ids).count("running") == 4
    await hired.beat()
    await hired.lease()
    await hired.report()
    assert (states(api, run_ids), target.hits_total) == ({"succeeded"}, CONNECTIONS_PER_HOST_MAX + 4)
    assert {run(api, run_id)["attempt"] for run_id in run_ids} == {1}


async def test_runs_for_a_busy_host_are_put_off(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire(slots=4, host_share=0.5)
    run_ids = enqueue(api, http(target, "/hang"), 4)
    await hired.lease()
    await target.wait_for_hits(2)
    told = [run(api, run_id) for run_id in run_ids]
    assert sorted(one["state"] for one in told) == ["running", "running", "scheduled", "scheduled"]
    assert {one["attempt"] for one in told if one["state"] == "scheduled"} == {0}


async def test_what_somebody_cancels_is_broken_off_at_the_next_beat(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire()
    (run_id,) = enqueue(api, http(target, "/hang"))
    await hired.lease()
    await target.wait_for_hits(1)
    assert api.call("POST", f"/v1/runs/{run_id}/cancel").json["state"] == "running"
    await hired.beat()
    await hired.report()
    assert run(api, run_id)["state"] == "cancelled"


async def test_results_that_come_too_late_are_counted(api: ServedApi, hire: Hire, target: Target) -> None:
    hired = await hire()
    run_ids = enqueue(api, http(target, "/slow/0.05"), 2)
    await hired.lease()
    api.on_store(lambda store: store.leave(BootId(hired.desk.id)))
    strays = api.on_store(lambda store: store.strays(grace_ms=0, limit=10))
    assert len(api.on_store(lambda store: store.reclaim([a_reclaim(stray) for stray in strays]))) == 2
    await hired.report()
    assert (hired.worker.fenced_total, states(api, run_ids)) == (2, {"ready"})
    with pytest.raises(LeaseLost):
        await hired.beat()


async def test_a_worker_that_is_asked_to_stop_waits_for_no_more_runs(api: ServedApi, hire: Hire) -> None:
    hired, stop = await hire(wait_s=20.0), Stop()
    task = lasting(hired, stop)
    await until(lambda: api.waiting > 0)
    stop.ask()
    async with asyncio.timeout(2):
        await task
    assert api.call("GET", "/v1/workers").json["items"] == []


async def test_a_worker_that_is_asked_through_the_server_ends_what_it_runs(
    api: ServedApi, hire: Hire, target: Target
) -> None:
    hired, stop = await hire(wait_s=20.0), Stop()
    task = lasting(hired, stop)
    (run_id,) = enqueue(api, http(target, "/slow/0.5"))
    await target.wait_for_hits(1)
    assert api.call("POST", f"/v1/workers/{hired.desk.id}/drain").status == 200
    await ended(task)
    assert (run(api, run_id)["state"], stop.asked.is_set()) == ("succeeded", True)
    assert api.call("GET", "/v1/workers").json["items"] == []


async def test_what_comes_while_it_drains_goes_back(api: ServedApi, hire: Hire, target: Target) -> None:
    hired, stop = await hire(), Stop()
    (run_id,) = enqueue(api, http(target))

    def drain() -> None:
        stop.ask()
        hired.worker._draining = True

    hired.desk.meets = drain
    await ended(lasting(hired, stop))
    told = run(api, run_id)
    assert (told["state"], told["attempt"], target.hits_total) == ("ready", 0, 0)


async def test_a_server_that_is_away_as_it_drains_costs_no_call_its_end(
    api: ServedApi, hire: Hire, target: Target
) -> None:
    hired, stop = await hire(), Stop()
    (under_way,) = enqueue(api, http(target, "/slow/0.3"))
    await hired.lease()
    await target.wait_for_hits(1)
    (lost,) = enqueue(api, http(target))
    hired.lose_the_answer()
    with pytest.raises(StoreUnavailable):
        await hired.lease()
    hired.lose_the_answer()
    stop.ask()
    await ended(lasting(hired, stop))
    assert (run(api, under_way)["state"], run(api, lost)["state"], target.hits_total) == ("succeeded", "ready", 1)


async def test_a_second_signal_leaves_what_is_under_way(api: ServedApi, hire: Hire, target: Target) -> None:
    hired, stop = await hire(), Stop()
    enqueue(api, http(target, "/hang"))
    task = lasting(hired, stop)
    await target.wait_for_hits(1)
    stop.ask()
    stop.ask()
    await ended(task)
    assert api.call("GET", "/v1/workers").json["items"] == []
