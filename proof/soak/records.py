"""What is written down during a soak beside the logs of every scenario, and where."""

from __future__ import annotations

import msgspec

SOAK = "soak.json"
SAMPLES = "samples.jsonl"
PERIOD_S = 10
"""Every job runs so often: there are as many jobs as runs in this time."""


class Soak(msgspec.Struct, frozen=True, kw_only=True):
    """What was to happen, and what the tables count at its end: ended runs by their kinds and states, and those that live."""

    seed: int
    rate: int
    began_s: float
    ended_s: float
    rested_s: float
    """When nothing was left to do, or nobody waited any longer."""
    faults_min: int
    ended: dict[str, int]
    """By kind and state: `scheduled succeeded`."""
    live: int
    both: int
    dead_letters: int

    @property
    def lasted_s(self) -> float:
        return self.ended_s - self.began_s


class Sample(msgspec.Struct, frozen=True):
    """Figures of one moment by their names: what is measured, a space, and of what."""

    at_s: float
    values: dict[str, float]
