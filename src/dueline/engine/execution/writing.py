"""The ends of attempts, written: each kind by its own move."""

from __future__ import annotations

from collections.abc import Collection

from dueline.domain.ids import RunId
from dueline.engine.execution.outcomes import End
from dueline.store.protocol import RunStore
from dueline.store.shapes import Finish, Reclaim, Retry


async def write_ends(store: RunStore, ends: Collection[End]) -> set[RunId]:
    """Answers those whose token matched; the others were lost to somebody else."""
    finishes = [end for end in ends if isinstance(end, Finish)]
    others = [end for end in ends if not isinstance(end, Finish)]
    retries = [end for end in others if isinstance(end, Retry)]
    reclaims = [end for end in others if isinstance(end, Reclaim)]
    accepted = await store.finish(finishes) if finishes else set()
    accepted |= await store.retry(retries) if retries else set()
    return accepted | (await store.reclaim(reclaims) if reclaims else set())


def letters_of(end: End) -> int:
    """How long its result is."""
    return len(end.attempt.outcome.result or "")
