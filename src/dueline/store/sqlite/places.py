"""Ends and places: what several moves do after the record of a run is written. Always inside the transaction of the move."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from dueline.domain.events import Told
from dueline.domain.ids import RunId
from dueline.store.sqlite.events import tell
from dueline.store.sqlite.part import array, pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("runs")
_PLANS = queries("plans")
_DEAD_LETTERS = queries("deadletters")
_NOTICES = queries("notices")


def end_runs(session: Session, run_ids: Collection[bytes]) -> None:
    """Take runs from the hot table, and tell of their end."""
    if run_ids:
        if session.value(_NOTICES["any"]) and session.written(_NOTICES["keep"], array(run_ids)):
            session.wake("notices")
        session.rows(_SQL["end"], array(run_ids))
        tell(session, Told.ENDED, run_ids)


def keep_failed(session: Session, run_ids: Collection[bytes]) -> None:
    """Make dead letters of runs that failed, once their records are written."""
    if run_ids:
        session.rows(_DEAD_LETTERS["keep"], pack_ids(run_ids))


def vacate(session: Session, runs: Iterable[Any]) -> list[bytes]:
    """Leave the places that runs, given as (run id, job id), may have; answers the jobs whose places were left."""
    pairs = [(run_id.hex(), job_id.hex()) for run_id, job_id in runs if job_id is not None]
    return [row[0] for row in session.rows(_SQL["vacate"], pack(pairs))] if pairs else []


def leave_places(session: Session, runs: Iterable[Any]) -> None:
    """Leave the places of runs that ended, and let the next run of each of those jobs have its turn."""
    jobs = vacate(session, runs)
    if jobs:
        freed = session.rows(_SQL["leave_places"], pack_ids(jobs))
        session.wake(*{f"ready/{row[0]}" for row in freed})


def follow(session: Session, runs: Iterable[Any], *, ended_ms: Mapping[RunId, int] | None = None) -> None:
    """Let schedules go on that awaited the end of runs, given as (run id, job id): from when each ended, or else from now."""
    ends = [
        (run_id.hex(), job_id.hex(), session.now_ms if ended_ms is None else ended_ms[run_id])
        for run_id, job_id in runs
        if job_id is not None
    ]
    if ends and session.rows(_PLANS["follow"], pack(ends)):
        session.wake("plans")
