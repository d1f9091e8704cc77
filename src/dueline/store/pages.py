"""How pages are read. Of runs there is a way for each index that keeps from looking at all of them."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, NamedTuple

from dueline.domain.ids import JobId, RunId, first_id_at
from dueline.domain.job import Job
from dueline.domain.states import UNSUCCESSFUL, RunState
from dueline.store.shapes import RunFilter

_FIRST_ID = bytes(16)
_LAST_ID = b"\xff" * 16


class FoundJobs(NamedTuple):
    """Jobs of a page; and where they are fewer than were asked for and the list goes on, the id down to which all were found."""

    jobs: list[Job]
    edge: JobId | None = None


class RunPage(Enum):
    ANY = auto()
    OF_JOB = auto()
    SUCCEEDED = auto()
    UNSUCCESSFUL = auto()
    """Ended in another way, as few do."""
    RUNNING = auto()
    WAITING = auto()
    """Live and not running."""


def way_to(match: RunFilter) -> RunPage:
    if match.job_id is not None:
        return RunPage.OF_JOB
    if match.state is None:
        return RunPage.ANY
    if match.state in UNSUCCESSFUL:
        return RunPage.UNSUCCESSFUL
    if match.state is RunState.SUCCEEDED:
        return RunPage.SUCCEEDED
    return RunPage.RUNNING if match.state is RunState.RUNNING else RunPage.WAITING


def lie_apart(match: RunFilter) -> bool:
    """Whether runs that are next to each other in the index of a page lie in different places."""
    return way_to(match) in (RunPage.OF_JOB, RunPage.UNSUCCESSFUL)


def id_bounds(match: RunFilter, *, before: RunId | None, down_to: RunId | None = None) -> tuple[bytes, bytes]:
    """The lowest id that a page may have, and the one that its ids are below."""
    low = _FIRST_ID if match.from_ms is None else first_id_at(match.from_ms)
    high = _LAST_ID if match.to_ms is None else first_id_at(match.to_ms)
    return max(low, down_to or _FIRST_ID), min(high, before or _LAST_ID)


def edge_arguments(match: RunFilter) -> tuple[Any, ...]:
    """What the statement that tells how far a page looks is given behind the bounds and the number of rows: it goes by the index that
    the page is read by."""
    way = way_to(match)
    if way is RunPage.OF_JOB:
        return (match.job_id,)
    if way is RunPage.UNSUCCESSFUL:
        return match.tenant, match.state
    return way is not RunPage.SUCCEEDED, way is not RunPage.WAITING
