"""What a sample tells, and a soak of half a minute."""

from __future__ import annotations

import os

import pytest

from proof.soak.play import play
from proof.soak.sampler import of_database, private_bytes


async def test_a_sample_tells_of_the_database(postgres_dsn: str) -> None:
    values = await of_database(postgres_dsn)
    assert (values["live runs"], values["overdue runs"], values["oldest_s runs"]) == (0, 0, 0)
    assert {"connections all", "table runs", "index runs_ready", "dead runs", "table history_other"} <= values.keys()


def test_a_sample_tells_the_memory_of_processes_and_of_their_children() -> None:
    assert private_bytes(os.getpid()) > 1_000_000


@pytest.mark.long
def test_a_short_soak_loses_nothing() -> None:
    """What grows, and how late it is, half a minute beside other tests does not tell."""
    verdict = play(minutes=0.75, rate=50, seed=7)
    assert [finding for finding in verdict.findings if finding.violations] == []
    assert verdict.figures["demanded"] >= 2_250
    assert verdict.figures["faults"] >= 3
