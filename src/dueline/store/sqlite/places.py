"""Ends and places: what several moves do after the record of a run is written. Always inside the transaction of the move."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from dueline.store.sqlite.part import pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("runs")


def end_runs(session: Session, run_ids: Collection[bytes]) -> None:
    """Take runs from the hot table."""
    session.rows(_SQL["end"], pack_ids(run_ids))


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
