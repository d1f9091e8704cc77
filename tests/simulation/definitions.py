"""Jobs and runs as the clients of the simulation ask for them, by chance."""

from __future__ import annotations

from random import Random

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.gates import Limit, Rate, Scope
from dueline.domain.job import (
    DEFAULT_TENANT,
    PRIORITIES,
    Concurrency,
    Definition,
    Delivery,
    Execution,
    HttpTarget,
    StartRate,
)
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.quotas import Quotas
from dueline.domain.retry import RetryPolicy
from dueline.domain.schedule import After, At, Cron, Every, Schedule
from dueline.domain.uniqueness import Dedupe, OnConflict, make_dedupe
from tests.simulation.clocks import START_MS
from tests.simulation.target import HOSTS

TIMEOUT_MS_MAX = 25_000
"""Long enough for others to take a run and have it under way when its former owner comes back."""
_HOST_WEIGHTS = (6, 3, 4, 1)
TENANTS = (DEFAULT_TENANT, "acme")
QUEUES = ("default", "other")
_QUEUE_WEIGHTS = (2, 1)
_KEY = "shared"
_PLACES = (*((Scope.QUEUE, name) for name in QUEUES), *((Scope.HOST, name) for name in HOSTS))
_CONCURRENCY = (Concurrency(limit=1), Concurrency(limit=2), Concurrency(limit=2, key=_KEY))
_RATES = (StartRate(rate=Rate(2, 1_000)), StartRate(rate=Rate(1, 1_000, 2)), StartRate(rate=Rate(3, 1_000), key=_KEY))
"""Faster than any schedule here: what waits for a token is through with it soon."""


def a_definition(random: Random, name: str, now_ms: int) -> Definition:
    return Definition(
        name=name,
        execution=an_execution(random),
        schedule=a_schedule(random, now_ms),
        overlap=random.choice(list(Overlap)),
        misfire=a_misfire(random),
        queue=a_queue(random),
        priority=random.choice(PRIORITIES),
        fairness_key=random.choice(["", "", "a", "b"]),
    )


def a_schedule(random: Random, now_ms: int) -> Schedule:
    match random.randrange(8):
        case 0:
            return At(at_ms=now_ms + random.randint(500, 90_000))
        case 1:
            return After(delay_ms=random.choice([2_000, 5_000, 15_000]), first_ms=now_ms + random.randint(100, 5_000))
        case _:
            return a_grid(random)


def a_grid(random: Random) -> Every | Cron:
    """A schedule of which everybody can say when it fires."""
    if random.random() < 0.2:
        return Cron(expression=random.choice(["* * * * *", "*/2 * * * *", "*/5 * * * *"]))
    period_ms = random.choice([2_000, 5_000, 10_000, 15_000, 30_000, 60_000])
    anchor_ms = START_MS - random.randrange(period_ms)
    return Every(period_ms=period_ms, anchor_ms=anchor_ms, jitter_ms=random.choice([0, 0, 0, 500, 4_000]))


def a_misfire(random: Random) -> Misfire:
    return Misfire(
        policy=random.choice(list(MisfirePolicy)),
        window_ms=random.choice([15_000, 60_000, 3_600_000]),
        cap=random.choice([2, 20]),
    )


def an_execution(random: Random) -> Execution:
    host = random.choices(HOSTS, _HOST_WEIGHTS)[0]
    retry = RetryPolicy(max_attempts=random.randint(1, 4), base_ms=random.choice([200, 1_000]), cap_ms=5_000)
    return Execution(
        target=HttpTarget(url=f"http://{host}/"),
        retry=retry,
        timeout_ms=random.choice([500, 2_000, 6_000, TIMEOUT_MS_MAX]),
        run_timeout_ms=random.choice([None, None, None, 20_000]),
        delivery=random.choice([Delivery.AT_LEAST_ONCE] * 4 + [Delivery.AT_MOST_ONCE]),
        expires_after_ms=random.choice([None, None, None, 12_000]),
        concurrency=random.choice(_CONCURRENCY) if random.random() < 0.4 else None,
        rate=random.choice(_RATES) if random.random() < 0.2 else None,
    )


def a_queue(random: Random) -> str:
    return random.choices(QUEUES, _QUEUE_WEIGHTS)[0]


def an_adhoc_run(random: Random, now_ms: int) -> AdhocRun:
    return AdhocRun(
        execution=an_execution(random),
        queue=a_queue(random),
        priority=random.choice(PRIORITIES),
        fairness_key=random.choice(["", "", "a", "b"]),
        due_ms=random.choice([None, now_ms + random.randint(0, 20_000)]),
    )


def a_dedupe(random: Random) -> Dedupe:
    return make_dedupe(
        random.choice(["one", "two", "three"]),
        window_ms=random.choice([None, None, 5_000, 30_000]),
        states=None,
        on_conflict=random.choice(list(OnConflict)),
    )


def a_limit(random: Random) -> Limit:
    """For a queue or a host: how many at once, how many in a time, or both."""
    scope, name = random.choice(_PLACES)
    most, rate = random.choice([1, 3, 6]), random.choice([Rate(2, 1_000), Rate(5, 2_000, 3)])
    kind = random.randrange(3)
    return Limit(scope=scope, name=name, most=most if kind != 1 else None, rate=rate if kind else None)


def some_quotas(random: Random) -> Quotas:
    return Quotas(
        running=random.choice([None, 2, 5]),
        runs_per_second=random.choice([None, None, 2]),
        run_now_per_minute=random.choice([None, None, 6]),
    )
