"""Builds that are broken on purpose: the judge must find out."""

from __future__ import annotations

from proof.scenarios.processes import nothing
from proof.scene import Plan

PLANS = [
    Plan(
        "broken_early",
        "a build whose clock is ahead",
        nothing,
        lasts_s=15,
        faults_min=0,
        module="proof.sabotage.early",
        breaks=("I5",),
    ),
    Plan(
        "broken_hasty",
        "a build that starts without asking",
        nothing,
        lasts_s=15,
        faults_min=0,
        module="proof.sabotage.hasty",
        breaks=("I9",),
    ),
]
