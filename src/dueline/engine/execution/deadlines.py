"""How long an attempt, and the whole of its run, may take."""

from __future__ import annotations

from dueline.domain.job import Execution
from dueline.store.shapes import Claim


def begun_ms(claim: Claim) -> int:
    """When the first attempt of the run began."""
    return max(claim.claimed_ms, claim.due_ms) if claim.begun_ms is None else claim.begun_ms


def run_end_ms(execution: Execution, claim: Claim) -> int | None:
    """When the time for the whole run is over."""
    return None if execution.run_timeout_ms is None else begun_ms(claim) + execution.run_timeout_ms


def time_left_ms(execution: Execution, claim: Claim, *, now_ms: int) -> int:
    """What an attempt that begins now may take: its own time, or what is left of the run's."""
    end_ms = run_end_ms(execution, claim)
    return execution.timeout_ms if end_ms is None else max(min(execution.timeout_ms, end_ms - now_ms), 0)
