"""How pages of runs are read: there is a way for each index that keeps from looking at all of them."""

from __future__ import annotations

from enum import Enum, auto

from dueline.domain.states import UNSUCCESSFUL, RunState
from dueline.store.shapes import RunFilter


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
