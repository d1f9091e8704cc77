"""What goes into and comes out of a store: small frozen rows, in batches."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.job import Definition
from dueline.domain.ledger import Unfired
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Position
from dueline.domain.quotas import Quotas
from dueline.domain.run import Attempt, NewRun, Run
from dueline.domain.states import JobState, RunKind, RunState


class NewJob(msgspec.Struct, frozen=True, kw_only=True):
    id: JobId
    tenant: str
    definition: Definition
    position: Position
    paused: bool = False


class JobFilter(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    state: JobState | None = None
    queue: str | None = None
    tag: str | None = None
    target_type: str | None = None


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId | None = None
    state: RunState | None = None
    kind: RunKind | None = None
    tag: str | None = None
    queue: str | None = None
    from_ms: int | None = None
    """Scheduled at or after."""
    to_ms: int | None = None
    """Scheduled before."""


class DuePlan(msgspec.Struct, frozen=True, gc=False):
    """A plan to act on. Its generation grows with every change of the job, whether it makes a new version or not."""

    job_id: JobId
    shard: int
    version: int
    generation: int
    next_ms: int
    runs_left: int | None = None


class Firing(msgspec.Struct, frozen=True, gc=False):
    """One job's occurrences, written together with the move of its schedule, or not at all.

    It takes effect only while the plan still is at (`generation`, `next_ms`). `position` is where the schedule moves to; `unfired` is
    told of the occurrences between that became no runs, by `version`.
    """

    job_id: JobId
    shard: int
    version: int
    generation: int
    next_ms: int
    position: Position
    runs: tuple[NewRun, ...]
    unfired: tuple[Unfired, ...] = ()


class LedgerRow(msgspec.Struct, frozen=True):
    """Occurrences of one version of a job that became no runs."""

    version: int
    unfired: Unfired


class VersionInForce(msgspec.Struct, frozen=True):
    """A version of a job and the time from which it was the job's."""

    version: int
    since_ms: int
    definition: Definition


class OverduePlan(msgspec.Struct, frozen=True):
    """A plan that nobody has acted on in time."""

    tenant: str
    job_id: JobId
    version: int
    next_ms: int
    due_ms: int
    runs_left: int | None


class MissedRun(msgspec.Struct, frozen=True):
    """A run of an occurrence that was missed, and that has not started yet."""

    run_id: RunId
    tenant: str
    job_id: JobId
    scheduled_ms: int
    due_ms: int


class LapsedRun(msgspec.Struct, frozen=True):
    """A run that was written long ahead of its time and still waits though that has passed."""

    run_id: RunId
    job_id: JobId
    version: int
    scheduled_ms: int


class CancelAnswer(StrEnum):
    """What became of the wish to end a run."""

    ENDED = "ended"
    """It had not started, and never will."""
    ASKED = "asked"
    """It is under way; its worker was asked to end it. Its effect may have happened."""
    OVER = "over"
    """It had ended before."""


class Postponed(msgspec.Struct, frozen=True, gc=False):
    """A claimed run that is not started after all, and not before `due_ms`. It counts neither as an attempt nor as lost."""

    run_id: RunId
    token: int
    due_ms: int
    reason: str


class Saved(msgspec.Struct, frozen=True):
    """What a run under way tells of itself: how far it is, and from where a next attempt may go on. None leaves what was told before."""

    run_id: RunId
    token: int
    checkpoint: str | None = None
    progress: float | None = None
    note: str | None = None


class Progress(msgspec.Struct, frozen=True):
    """What a live run told of itself last."""

    checkpoint: str | None
    progress: float | None
    note: str | None
    updated_ms: int


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run that nobody has dealt with yet."""

    run: Run
    spec: str | None
    """What was executed, for a run without a job."""
    failed_ms: int


class DeadLetterFilter(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId | None = None
    queue: str | None = None
    reason: str | None = None
    from_ms: int | None = None
    """Failed at or after."""
    to_ms: int | None = None
    """Failed before."""


class Redrive(msgspec.Struct, frozen=True):
    """A dead letter, and the run that is to take its place. The same request makes the same run id."""

    run_id: RunId
    run: NewRun


class QueueState(msgspec.Struct, frozen=True, kw_only=True):
    """A queue as it stands. `oldest_ms` is when its oldest ready run became due."""

    queue: str
    ready: int
    running: int
    held: int
    waiting: int
    oldest_ms: int | None
    paused: bool
    note: str | None
    reasons: dict[str, int] = {}
    """Why runs of it are held or put off, and how many."""


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """What is set for a tenant. One that nothing was set for has all defaults."""

    tenant: str
    weight: float = 1.0
    """Its share of every line, against the others that wait."""
    quotas: Quotas = Quotas()
    updated_ms: int = 0


class TenantUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a tenant has: living jobs, and runs under way."""

    jobs: int = 0
    running: int = 0


class SigningSecrets(msgspec.Struct, frozen=True):
    """What a tenant's calls are signed with; the previous one too, while receivers learn the new one."""

    current: str
    previous: str | None
    rotated_ms: int


class CancelAsked(msgspec.Struct, frozen=True):
    """A run under way that somebody asked to end."""

    run_id: RunId
    token: int
    reason: str


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A worker's hold on a run. Every later write about the run proves itself with the token."""

    run_id: RunId
    token: int
    job_id: JobId | None
    version: int | None
    tenant: str
    kind: RunKind
    scheduled_ms: int
    due_ms: int
    claimed_ms: int
    attempt: int
    lost: int
    exclusive: bool
    spec: str | None
    begun_ms: int | None = None
    """When the first attempt of the run was claimed, if this is not the first."""
    expires_ms: int | None = None
    overlap: Overlap | None = None
    """The run's own policy, where it is not the job's."""
    gated: bool = False
    """Whether it has places at gates, to be left when it ends."""
    queue: str = ""

    @property
    def forced(self) -> bool:
        """Whether whoever ran it by hand wants it beside whatever is under way."""
        return self.kind is RunKind.MANUAL and self.overlap is Overlap.ALLOW


class Blocked(msgspec.Struct, frozen=True):
    """A run that cannot start because another run of its job has not ended. `held` of them wait already."""

    run_id: RunId
    token: int
    job_id: JobId
    version: int
    held: int
    overlap: Overlap | None = None
    """The run's own policy, where it is not the job's."""


class Claimed(msgspec.Struct, frozen=True):
    claims: list[Claim]
    blocked: list[Blocked]


class Confirmed(msgspec.Struct, frozen=True):
    """The runs that may start, each with the token of the claim that holds: a claim on a run that was taken back and written again
    since does not fit."""

    tokens: dict[RunId, int]
    blocked: list[Blocked]


class Finish(msgspec.Struct, frozen=True, gc=False):
    """The end of a run."""

    run_id: RunId
    token: int
    state: RunState
    exclusive: bool
    started_ms: int | None
    finished_ms: int
    attempt: Attempt
    reason: str | None = None
    awaited: bool = False
    """Whether the job's schedule counts from this end."""
    gated: bool = False
    """Whether it leaves places at gates."""


class Retry(msgspec.Struct, frozen=True, gc=False):
    """The end of an attempt, with another to come."""

    run_id: RunId
    token: int
    due_ms: int
    attempt: Attempt
    gated: bool = False


class Stray(msgspec.Struct, frozen=True):
    """A claimed run whose worker is gone, or has outlived the attempt's timeout by the grace."""

    run_id: RunId
    token: int
    job_id: JobId | None
    version: int | None
    worker: BootId
    attempt: int
    lost: int
    claimed_ms: int
    overtime: bool
    spec: str | None
    cancel: str | None = None
    """Why it was to be ended, if somebody asked for that."""
    begun_ms: int | None = None
    """When the first attempt of the run was claimed, if this is not the first."""


class Reclaim(msgspec.Struct, frozen=True):
    """Taking a run from an owner that lost it: back to the queue, to a later retry, or to its end."""

    run_id: RunId
    token: int
    state: RunState
    lost: bool
    due_ms: int | None
    reason: str | None
    attempt: Attempt
    owner: BootId | None = None
    """The owner that gives it up itself, though it lives: its process died, or it is about to leave."""
    counted: bool = True
    """Whether the attempt counts. One that its worker broke off because it leaves does not, neither as failed nor as lost."""


class Promoted(msgspec.Struct, frozen=True):
    """How many waiting runs became ready, and in which queues some of them may be claimed now. Of those that may not there is the first of
    each queue, with its due time: of these nobody was told."""

    count: int
    queues: frozenset[str] = frozenset()
    later: dict[str, int] = {}


class Chores(msgspec.Struct, frozen=True):
    """Of what the sweeps look after, whether there may be any: who has nothing to do asks one question instead of many."""

    cancels: bool
    expiries: bool
    awaiting: bool
    held: bool
    gates: bool
    flows: bool
    keys: bool


class Upcoming(msgspec.Struct, frozen=True):
    """When the next waiting run is due, and when the next token comes that somebody waits for."""

    due_ms: int | None
    refill_ms: int | None


class Migration(msgspec.Struct, frozen=True):
    version: int
    name: str
    checksum: str
    sql: str


class MigrationState(msgspec.Struct, frozen=True):
    version: int
    name: str
    applied: bool
