"""What clients asked for and what they were told; and beside it, for the checks, what took effect and when."""

from __future__ import annotations

from collections import defaultdict
from enum import StrEnum
from typing import Any

import msgspec

from dueline.domain.gates import Scope
from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Definition, Job
from dueline.domain.overlap import Overlap
from dueline.domain.run import NewRun
from dueline.domain.uniqueness import KeyName, UniqueAnswer, UniqueRun
from dueline.store.shapes import Redrive
from tests.simulation.clocks import StoreClock


class Deed(StrEnum):
    CREATE = "create"
    EDIT = "edit"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL_JOB = "cancel job"
    DELETE = "delete"
    RUN = "run"
    ENQUEUE = "enqueue"
    UNIQUE = "enqueue unique"
    BACKFILL = "backfill"
    CANCEL = "cancel"
    REDRIVE = "redrive"
    LIMIT = "limit"
    UNLIMIT = "lift limit"
    QUOTAS = "set quotas"


ENDS = frozenset({Deed.CANCEL_JOB, Deed.DELETE})
"""After these nothing more of a job is planned."""
CHANGES = frozenset({Deed.EDIT, Deed.PAUSE, Deed.RESUME, *ENDS})


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
    at_s: float


class LimitEvent(msgspec.Struct, frozen=True):
    """From a moment on so many runs may be under way; None: any number."""

    at_s: float
    most: int | None


class KeyEvent(msgspec.Struct, frozen=True):
    """Somebody asked for a dedupe key at a time of the store, and got an answer."""

    at_ms: int
    asked: UniqueRun
    answer: UniqueAnswer


class Operation(msgspec.Struct, eq=False):
    """Something a client asked for."""

    journal: Journal
    deed: Deed
    client: str
    told: Told = Told.NOTHING
    now_ms: int = 0
    """What a new job takes for now: its occurrences begin after it."""
    effects: int = 0
    idle: bool = False
    """It would change nothing, so that nothing is written."""
    run_ids: tuple[RunId, ...] = ()
    """The runs that the client was told of."""

    def took_effect(self, name: str, answer: Any, args: tuple[Any, ...]) -> None:
        journal = self.journal
        match name:
            case "create_jobs":
                self.effects += 1
                for job in answer:
                    assert job is not None, "names are not used twice"
                    journal.add(self.deed, job, self.now_ms)
            case "change_job":
                self.effects += 1
                journal.add(self.deed, answer, answer.updated_ms)
            case "enqueue":
                self.effects += 1
                for run in args[0]:
                    if run.id in answer:
                        journal.add_run(run)
            case "enqueue_unique":
                self.effects += 1
                for asked, given in zip(args[0], answer, strict=True):
                    journal.add_key(asked, given)
            case "redrive":
                self.effects += 1
                redrives: list[Redrive] = args[1]
                for redrive in redrives:
                    if redrive.run_id in answer:
                        journal.redriven.add(redrive.run_id)
                        journal.add_run(redrive.run)
            case "cancel_runs":
                self.effects += 1
            case "put_limit":
                self.effects += 1
                journal.add_limit(answer.scope, answer.name, answer.most)
            case "delete_limit":
                self.effects += 1
                journal.add_limit(args[0], args[1], None)
            case "put_tenant":
                self.effects += 1
                journal.add_limit(Scope.TENANT, answer.tenant, answer.quotas.running)


class Journal:
    def __init__(self, clock: StoreClock) -> None:
        self._clock = clock
        self.operations: list[Operation] = []
        self.events: defaultdict[JobId, list[JobEvent]] = defaultdict(list)
        """Of each job, in the order of their effect."""
        self.definitions: dict[tuple[JobId, int], Definition] = {}
        self.asked: set[RunId] = set()
        """Runs that somebody asked for, beside those of schedules."""
        self.specs: dict[RunId, str] = {}
        """What those of them execute that do not have it from a job."""
        self.forced: set[RunId] = set()
        """Those that may run beside others."""
        self.redriven: set[RunId] = set()
        self.keys: defaultdict[KeyName, list[KeyEvent]] = defaultdict(list)
        self.limits: defaultdict[tuple[Scope, str], list[LimitEvent]] = defaultdict(list)
        """What was set for each queue, host and tenant."""

    def begin(self, deed: Deed, client: str) -> Operation:
        operation = Operation(self, deed, client)
        self.operations.append(operation)
        return operation

    def add(self, deed: Deed, job: Job, at_ms: int) -> None:
        self.events[job.id].append(JobEvent(deed, job, at_ms, self._clock.monotonic_s()))
        self.definitions[job.id, job.version] = job.definition

    def add_run(self, run: NewRun) -> None:
        self.asked.add(run.id)
        if run.spec is not None:
            self.specs[run.id] = run.spec
        if run.overlap is Overlap.ALLOW:
            self.forced.add(run.id)

    def add_key(self, asked: UniqueRun, answer: UniqueAnswer) -> None:
        if answer.written:
            self.add_run(asked.run)
        if asked.name is not None:
            self.keys[asked.name].append(KeyEvent(self._clock.wall_ms(), asked, answer))

    def add_limit(self, scope: Scope, name: str, most: int | None) -> None:
        self.limits[scope, name].append(LimitEvent(self._clock.monotonic_s(), most))

    def living(self, tenant: str | None = None) -> list[Job]:
        """Jobs that were not deleted, as they are now: of a tenant, or all."""
        jobs = [events[-1].job for events in self.events.values() if events[-1].deed is not Deed.DELETE]
        return [job for job in jobs if tenant in (None, job.tenant)]

    def limited(self) -> list[tuple[Scope, str]]:
        """Queues, hosts and tenants that something was set for at some time."""
        return list(self.limits)
