"""What happens where a tenant with little to do has one with very much beside it."""

from __future__ import annotations

import time
from typing import Any

from proof import load
from proof.dump import live_runs
from proof.scene import Plan, Scene

QUIET_JOBS = 20
NOISY_RUNS = 30_000
BACKLOG = 15_000
"""Runs that wait at the same time, at least, or the noise is none."""
BULK = 10_000
CALL_S = 0.5
"""How long the noisy ones keep a slot each."""
DRAINED = 1_000
NOISE_S_MAX = 60.0
POLL_S = 0.25
ALONE_S = 15.0


def noisy_neighbour(scene: Scene) -> None:
    """A quiet tenant alone; then another asks for very many runs at once, whose calls take their time."""
    quiet = scene.add_client("quiet")
    quiet.create_many([_quiet(scene, number) for number in range(QUIET_JOBS)])
    noisy = scene.add_client("noisy")
    url = f"{scene.add_target('noisy').url}/slow/{CALL_S}"
    scene.until(ALONE_S)
    with scene.nemesis.fault("noise", "a tenant", planned=True) as evidence:
        for _ in range(NOISY_RUNS // BULK):
            noisy.adhoc_many([load.asked("noisy", url) for _ in range(BULK)])
        most = 0
        deadline = time.monotonic() + NOISE_S_MAX
        while (waiting := live_runs(scene.client)) is None or waiting > DRAINED:
            most = max(most, waiting or 0)
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        evidence["a backlog"] = most >= BACKLOG


def _quiet(scene: Scene, number: int) -> dict[str, Any]:
    schedule = {
        "every": "PT1S",
        "start_at": load.instant(scene.begin_s + number / QUIET_JOBS),
        "end_at": load.instant(scene.end_s),
    }
    return load.asked("quiet", f"{scene.target.url}/ok", schedule=schedule, overlap="allow", misfire=load.ALL_MISSED)


PLANS = [
    Plan(
        "noisy_neighbour",
        "a tenant has 30,000 runs waiting beside a quiet one",
        noisy_neighbour,
        lasts_s=40,
    ),
]
