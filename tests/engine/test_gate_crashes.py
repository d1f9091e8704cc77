"""Whatever crashes, and however often: places at gates are those of runs under way, and in the end there are none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dueline.domain.gates import Gate, Limit, Rate, Scope
from dueline.domain.job import Concurrency, Execution, HttpTarget, Job, StartRate
from dueline.domain.limiting import own_gates
from dueline.domain.overlap import Overlap
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.states import RunState
from dueline.store.sqlite.store import SqliteStore
from tests.engine.crashing import TICK_S, CrashWorld
from tests.support.stores import TENANT, SqliteClock, StoreUnderTest

RETRY = RetryPolicy(max_attempts=20, backoff=Backoff.FIXED, base_ms=200, max_lost=50)
RATE = Rate(4, 1_000, 2)
SMALL = "small"


@pytest.fixture
async def in_memory() -> AsyncIterator[StoreUnderTest]:
    """A store that forgets nothing but at the end: quick, and the same every time."""

    async def tamper(_statement: str) -> None:
        raise NotImplementedError

    clock = SqliteClock()
    store = SqliteStore(":memory:", clock.manual, inline=True)
    await store.open()
    await store.migrate()
    yield StoreUnderTest("sqlite", store, clock, tamper)
    await store.close()


async def a_workload(world: CrashWorld) -> list[Job]:
    """Limits of jobs, keys, a rate and a queue."""

    def execution(concurrency: Concurrency | None = None, rate: StartRate | None = None) -> Execution:
        target = HttpTarget(url="http://target.test/", body={"customer": 7})
        return Execution(target=target, retry=RETRY, concurrency=concurrency, rate=rate)

    of_customer = Concurrency(limit=2, key="customer {{body.customer}}")
    await world.store.put_limit(Limit(scope=Scope.QUEUE, name=SMALL, most=3))
    return [
        *[await world.define(execution(Concurrency(limit=most)), [(f"job {most}", most)]) for most in (1, 2, 3)],
        await world.define(execution(of_customer), [("customer", 2)], overlap=Overlap.ALLOW),
        await world.define(execution(of_customer), [("customer", 2), (SMALL, 3)], queue=SMALL),
        await world.define(execution(Concurrency(limit=2)), [("both", 2), (SMALL, 3)], queue=SMALL),
        await world.define(execution(rate=StartRate(rate=RATE)), [("rated", 1_000)]),
    ]


def gates_of(job: Job) -> tuple[Gate, ...]:
    execution = job.definition.execution
    return own_gates(execution, tenant=TENANT, job_id=job.id, job_name=job.definition.name, version=job.version)


async def crash_and_check(under_test: StoreUnderTest, *, crashes: int, seed: int) -> CrashWorld:
    world = CrashWorld(under_test, seed)
    jobs = await a_workload(world)
    for _ in range(20 * crashes):
        if world.crashes >= crashes:
            break
        if world.random.random() < 0.25:
            await world.enqueue([world.random.choice(jobs) for _ in range(world.random.randint(1, 5))])
        await world.tick()
    assert world.crashes >= crashes
    await world.quiesce()
    assert world.too_many == []
    runs = await world.runs()
    assert [run for run in runs if run.state is not RunState.SUCCEEDED] == []
    limits = {limit.gate for limit in await world.store.limits()}
    for gate in {gate for job in jobs for gate in gates_of(job)} | limits:
        seen, _ = await world.store.look_at(gate)
        assert seen.taken == 0, gate
    check_rate([at_ms for at_ms, call in world.started if ("rated", 1_000) in world.bounds_of(call)])
    return world


def check_rate(started_ms: list[int]) -> None:
    """What may start between two ticks starts at the later one."""
    for first, since_ms in enumerate(started_ms):
        for last, until_ms in enumerate(started_ms[first:], first):
            window_us = (until_ms - since_ms) * 1_000 + TICK_S * 1e6
            assert last - first + 1 <= RATE.burst + window_us / RATE.interval_us


async def test_no_place_is_left_after_a_thousand_crashes(in_memory: StoreUnderTest) -> None:
    world = await crash_and_check(in_memory, crashes=1_000, seed=1)
    assert sum(run.lost for run in await world.runs()) > 20, "whole processes were lost as well"


@pytest.mark.parametrize("seed", range(2))
async def test_no_place_is_left_after_crashes(under_test: StoreUnderTest, seed: int) -> None:
    await crash_and_check(under_test, crashes=60, seed=seed)
