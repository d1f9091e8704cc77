"""Jobs and runs as the clients of the simulation ask for them, by chance."""

from __future__ import annotations

from random import Random

from dueline.domain.job import Concurrency, Definition, Delivery, Execution, HttpTarget
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import RetryPolicy
from dueline.domain.schedule import After, At, Cron, Every, Schedule
from tests.simulation.clocks import START_MS
from tests.simulation.target import HOSTS

TIMEOUT_MS_MAX = 25_000
"""Long enough for others to take a run and have it under way when its former owner comes back."""
_HOST_WEIGHTS = (6, 3, 4, 1)


def a_definition(random: Random, name: str, now_ms: int) -> Definition:
    return Definition(
        name=name,
        execution=an_execution(random),
        schedule=a_schedule(random, now_ms),
        overlap=random.choice(list(Overlap)),
        misfire=a_misfire(random),
        queue=random.choice(["default", "default", "other"]),
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
        concurrency=random.choice([None, None, None, Concurrency(limit=1), Concurrency(limit=2)]),
    )
