"""What clients asked for and what they were told; and beside it, for the checks, what took effect and when."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import Any

import msgspec

from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Definition, Job
from dueline.domain.overlap import Overlap
from dueline.store.shapes import Redrive


class Deed(StrEnum):
    CREATE = "create"
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    RUN = "run"
    ENQUEUE = "enqueue"
    BACKFILL = "backfill"
    CANCEL = "cancel"
    REDRIVE = "redrive"


CHANGES = frozenset({Deed.EDIT, Deed.PAUSE, Deed.RESUME, Deed.DELETE})


class Told(StrEnum):
    """What a client knows in the end of something it asked for."""

    NOTHING = "nothing yet"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class JobEvent(msgspec.Struct, frozen=True):
    """A change of a job that took effect, at a time of the store. `job` is as it is after it."""

    deed: Deed
    job: Job
    at_ms: int


class Operation(msgspec.Struct, eq=False):
    """Something a client asked for."""

    journal: Journal
    deed: Deed
    client: str
    told: Told = Told.NOTHING
    now_ms: int = 0
    """What a new job takes for now: its occurrences begin after it."""
    effects: int = 0
    run_ids: tuple[RunId, ...] = ()
    """The runs that the client was told of."""

    def took_effect(self, name: str, answer: Any, args: tuple[Any, ...]) -> None:
        journal = self.journal
        match name:
            case "create_jobs":
                self.effects += 1
                for job in answer:
                    assert job is not None, "names are not used twice"
                    journal.add(JobEvent(self.deed, job, self.now_ms))
            case "change_job":
                self.effects += 1
                journal.add(JobEvent(self.deed, answer, answer.updated_ms))
            case "enqueue":
                self.effects += 1
                journal.asked.update(answer)
                journal.forced.update(run.id for run in args[0] if run.overlap is Overlap.ALLOW)
            case "redrive":
                self.effects += 1
                redrives: list[Redrive] = args[1]
                for redrive in redrives:
                    if redrive.run_id in answer:
                        journal.redriven.add(redrive.run_id)
                        journal.asked.add(redrive.run.id)
            case "cancel_runs":
                self.effects += 1


class Journal:
    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.events: defaultdict[JobId, list[JobEvent]] = defaultdict(list)
        """Of each job, in the order of their effect."""
        self.definitions: dict[tuple[JobId, int], Definition] = {}
        self.asked: set[RunId] = set()
        """Runs that somebody asked for, beside those of schedules."""
        self.forced: set[RunId] = set()
        """Those that may run beside others."""
        self.redriven: set[RunId] = set()

    def begin(self, deed: Deed, client: str) -> Operation:
        operation = Operation(self, deed, client)
        self.operations.append(operation)
        return operation

    def add(self, event: JobEvent) -> None:
        self.events[event.job.id].append(event)
        self.definitions[event.job.id, event.job.version] = event.job.definition

    def living(self) -> list[Job]:
        """Jobs that were not deleted, as they are now."""
        return [events[-1].job for events in self.events.values() if events[-1].deed is not Deed.DELETE]
