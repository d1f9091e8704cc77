"""The life of runs and jobs as a small model, and both stores side by side with it, through any moves in any order.

`make model` takes more examples than there is time for otherwise.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from random import SystemRandom

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine
from tests.model.sides import PostgresSides

EXAMPLES = 80
EXAMPLES_LONG = 2_000
STEPS = 35
FRESH = 10
"""So many examples of one seed are made anew; later ones are made of earlier ones, and tell little."""
PHASES = [Phase.generate] if os.environ.get("SHRINK") == "no" else [Phase.generate, Phase.shrink]
"""A failure is made as short as it can be, which takes minutes; who only wants to know whether there is one can do without."""


def _examine(dsn: str, seeds: Iterable[int]) -> None:
    bounds = settings(
        max_examples=FRESH,
        stateful_step_count=STEPS,
        database=None,
        deadline=None,
        phases=PHASES,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    with asyncio.Runner() as runner:
        postgres = PostgresSides(dsn)

        class Begun(Machine):
            def __init__(self) -> None:
                super().__init__(runner, postgres)

        try:
            runner.run(postgres.open())
            for number in seeds:
                run_state_machine_as_test(seed(number)(Begun), settings=bounds)
        finally:
            runner.run(postgres.close())


def test_both_stores_do_as_the_model_says(emptied_dsn: str) -> None:
    """The same examples every time."""
    _examine(emptied_dsn, range(EXAMPLES // FRESH))


@pytest.mark.long
def test_both_stores_do_as_the_model_says_for_long(emptied_dsn: str) -> None:
    """Other examples every time; a failure prints its own."""
    examples = int(os.environ.get("EXAMPLES") or EXAMPLES_LONG)
    first = SystemRandom().randrange(1 << 32)
    _examine(emptied_dsn, range(first, first + -(-examples // FRESH)))
