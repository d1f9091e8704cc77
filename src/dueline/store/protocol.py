"""The store: lifecycle moves in batches, each one transaction. Cut by who calls it.

Guarantees that hold for every method of every store:

* A method that returns has taken effect durably; one that raises `StoreUnavailable` may or may not have. Ask again; every move can
  be repeated without doing harm.
* A move is a compare-and-set: on the epoch of a shard, the token of a run, the version of a plan. What no longer matches is left out
  of the answer, and was not written.
* Time inside a statement is the store's own clock. Due times, leases and records all follow it.
* Batches have no order among themselves; a batch is atomic unless the method says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol

from dueline.domain.changes import DecideChange
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.job import Job, JobVersion
from dueline.domain.run import NewRun, Run
from dueline.store.access import KeyStore
from dueline.store.calendars import CalendarStore
from dueline.store.events import EventStore
from dueline.store.fleet import JobTypeStore, LeaseStore, MemberStore
from dueline.store.history import FinishedJobStore, HistoryStore
from dueline.store.names import Names
from dueline.store.notices import NoticeStore
from dueline.store.pages import FoundJobs
from dueline.store.requests import RequestStore
from dueline.store.retries import RetryStore
from dueline.store.shapes import (
    Blocked,
    CancelAnswer,
    CancelAsked,
    Chores,
    Claim,
    Claimed,
    Confirmed,
    DeadLetter,
    DeadLetterFilter,
    DuePlan,
    Finish,
    Firing,
    JobFilter,
    LapsedRun,
    LedgerRow,
    MigrationState,
    MissedRun,
    NewJob,
    OverduePlan,
    Postponed,
    Progress,
    Promoted,
    QueueState,
    Reclaim,
    Redrive,
    Retry,
    RunFilter,
    Saved,
    SigningSecrets,
    Stray,
    Upcoming,
    VersionInForce,
)
from dueline.store.sharing import GateStore, TenantStore
from dueline.store.standings import Standing, Waiting
from dueline.store.uniques import UniqueStore
from dueline.store.upkeep import UpkeepStore

WakeUp = Callable[[str], None]
"""Called with a topic: `plans` (a schedule changed), `waiting` (a retry or a delayed run was written), `shards` (some were handed over,
or are about to be), `stale` (plans must be looked at again), `cancel` (a run under way is to end), `drain` (a process is to
end), `notices` (somebody is to be told of an end; not every store says so), or `ready/QUEUE`."""


class SchemaStore(Protocol):
    async def migrate(self) -> Sequence[MigrationState]:
        """Apply what is missing, in order, under a lock that lets one process do it. Refuses a schema that is newer or altered."""

    async def schema(self) -> Sequence[MigrationState]:
        """Every known migration, and whether it is applied."""


class JobStore(Protocol):
    async def create_jobs(
        self, jobs: Sequence[NewJob], *, atomic: bool = False, jobs_max: int | None = None
    ) -> list[Job | None]:
        """Write jobs with their plans. An answer of None: the name is taken by a living job of the tenant, or by one before it in the
        batch; it was not written. With `atomic` all are written or none: NamesTaken says why not.

        The plan of a job that names calendars is written stale, and that of one that begins paused has nothing to act on. With `jobs_max`,
        all of them are of one tenant, for which something is set: if it had more living jobs than that with them, none is written, and
        OverQuota raised. Whoever else creates some so waits.
        """

    async def change_job(self, tenant: str, job_id: JobId, decide: DecideChange) -> Job:
        """Lock a living job and its unstarted runs, ask `decide`, write what it says, all in one transaction.

        `decide` must be pure: it may be called again. What it raises ends the transaction and reaches the caller. Raises NotFound,
        and Conflict when a new name is taken. A change of the definition makes a new version. The hand has the calendars that the
        job names; what is told of unfired occurrences is of the version before the change.
        """

    async def job(self, tenant: str, job_id: JobId) -> Job | None:
        """A living job."""

    async def jobs_page(self, match: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        """Living jobs, newest first, below a job id."""

    async def jobs_with(self, match: JobFilter, words: Sequence[str], *, before: JobId | None, limit: int) -> FoundJobs:
        """The same of those that have for each of some words, as `words_in` makes them, one that begins so: in the name, a tag, or the URL
        or task. There is one word at least. Where it took too long to find as many as are asked for, it is all of them down to an edge."""

    async def jobs_named(self, match: JobFilter, names: Names, *, limit: int) -> list[Job]:
        """Living jobs with such names, in the order of these, by code points."""

    async def versions_of(self, job_id: JobId) -> list[VersionInForce]:
        """All versions of a job, oldest first."""

    async def versions_page(self, job_id: JobId, *, before: int | None, limit: int) -> list[VersionInForce]:
        """Versions of a job below a number, newest first, deleted jobs included."""

    async def job_versions(self, keys: Collection[tuple[JobId, int]]) -> list[JobVersion]:
        """Versions of jobs, deleted ones included. A key that never existed is left out."""


class PlanStore(Protocol):
    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        """Plans of some shards to act on between two instants, inclusive, by the index of due times alone.

        A shard's earliest come first, in about equal shares of the limit: what is left out is found by asking again.
        """

    async def crowds(self, shards: Collection[int], *, since_ms: int, until_ms: int, least: int) -> dict[int, int]:
        """How many plans are due in each second that has at least so many, by its first millisecond, from an instant to before another."""

    async def fire(self, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
        """Write runs and move schedules in one transaction; answers the jobs for which it happened.

        A firing is left out when its shard's epoch is not the one given (the caller was fenced), or when its plan moved on. A run that
        exists already stays as it is. A run that is not due within the look-ahead waits as `scheduled`. A job whose position is
        exhausted (neither a next occurrence nor an awaited run) is finished.
        """

    async def next_due_ms(self) -> int | None:
        """When the earliest plan is to be acted on, the earliest waiting run is due, or the earliest token comes that somebody waits for at
        a gate; None when there is nothing of that."""

    async def stale_plans(self, shards: Collection[int], *, limit: int) -> list[tuple[str, JobId]]:
        """Plans of some shards that must be looked at again, as (tenant, job)."""

    async def adopt_zones(self, epochs: Mapping[int, int], tzdata: str) -> int:
        """Make stale the plans of zoned schedules, in those shards that are still the caller's and whose plans were made by older rules
        of the time zones. Answers how many shards that were."""

    async def overdue(self, *, tenant: str | None, before_ms: int, limit: int) -> list[OverduePlan]:
        """Plans of active jobs that were to be acted on before an instant, the longest overdue first."""

    async def overdue_count(self, *, tenant: str | None, before_ms: int) -> int: ...


class RunStore(UniqueStore, Protocol):
    async def enqueue(self, runs: Sequence[NewRun], *, open_job: JobId | None = None) -> set[RunId]:
        """Write runs that somebody asked for; answers those that are new. One not due within the look-ahead waits as `scheduled`. Those of
        an `open_job` are written while it is one: NotFound or Conflict where it was deleted or cancelled, however lately.

        Whatever makes runs ready, this, `fire` and `promote`, gives them their ranks by the rules of `domain.fairness`. One that was
        tried or put off before, or whose job was paused, is ranked as `again`; one that was held for another or given back keeps its
        rank.
        """

    async def upcoming(self) -> Upcoming:
        """When something is to be made ready next."""

    async def count_waiting(self, *, until_ms: int, limit: int) -> int:
        """How many runs wait to be made ready that are due until then, `limit` at most."""

    async def promote(self, *, ahead_ms: int, limit: int) -> Promoted:
        """Make waiting runs ready whose due time is near. Workers are told of those that they may claim already."""

    async def tell_ready(self, queues: Iterable[str]) -> None:
        """Tell workers of queues in which runs that were made ready may be claimed by now."""

    async def claim(self, worker: BootId, queue: str, lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        """Give ready runs of one lane to a live worker, in rank order, raising their tokens. A paused queue gives none, and a run that
        has expired is left to the sweeper.

        A worker whose lease was taken gets nothing. At most one run of a job with an exclusive overlap policy is under way: one that is
        due and finds another under way is blocked and stays ready; one that is not due yet is decided by `confirm`.
        """

    async def claims_of(self, worker: BootId) -> list[Claim]:
        """Everything a worker has claimed and not ended, as the store sees it: the truth after an answer was lost."""

    async def confirm(self, claims: Sequence[Claim]) -> Confirmed:
        """Those claims that still hold and may start. Asked about runs that were claimed ahead of their due time, when it has come; of one
        for which it has not come by the store's own clock nothing is told.
        A change of the job that is under way is waited for. A run of an exclusive job gets the job's place here, or is blocked.
        """

    async def release(self, claims: Sequence[Claim]) -> set[RunId]:
        """Give unstarted runs back. They count neither as attempts nor as lost."""

    async def finish(self, finishes: Sequence[Finish]) -> set[RunId]:
        """End runs: from the hot table to history. Answers those whose token matched; the others were lost to somebody else.

        A schedule that awaits the end of a run goes on from it, in the same transaction: so it does when a run is skipped, reclaimed
        for its end, or cancelled.
        """

    async def retry(self, retries: Sequence[Retry]) -> set[RunId]:
        """End attempts whose runs will be tried again. When the first of them was claimed is kept."""

    async def postpone(self, postponed: Sequence[Postponed]) -> set[RunId]:
        """Put claimed runs off: they wait as `scheduled`, with the reason, until their new due times. Exclusive jobs' places are left
        unless the run was tried before."""

    async def cancel_runs(self, tenant: str, run_ids: Sequence[RunId], *, reason: str) -> dict[RunId, CancelAnswer]:
        """End runs that have not started, and ask the workers of those that have. Runs that the tenant does not have are left out."""

    async def expire(self, *, limit: int) -> int:
        """End unstarted runs whose time to start has passed, as expired."""

    async def save(self, saved: Sequence[Saved]) -> set[RunId]:
        """Keep checkpoints and progress of runs under way, by their tokens. They go when the run ends."""

    async def progress_of(self, run_ids: Collection[RunId]) -> dict[RunId, Progress]:
        """What live runs told of themselves."""

    async def hold_blocked(self, blocked: Sequence[Blocked]) -> set[RunId]:
        """Hold unstarted runs that wait for another run of their job, if it still has not ended."""

    async def skip_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        """End unstarted runs that must not overlap, as cancelled, if the other run still has not ended."""

    async def displace_blocked(self, blocked: Sequence[Blocked], *, reason: str) -> set[RunId]:
        """Hold unstarted runs, ask the run that is in their way to end, and end older ones that waited for the same; all only if the
        other run still has not ended. Answers those held. A run in the way that is not being executed ends here. A run that is older
        than the one in its way ends itself."""

    async def cancels_of(self, worker: BootId) -> list[CancelAsked]:
        """Runs that a worker executes and that somebody asked to end."""

    async def sweep_cancelled(self, *, limit: int) -> int:
        """End runs that somebody asked to end and that nobody executes any more."""

    async def sweep_awaiting(self) -> int:
        """Let schedules go on that await a run which is not live: the truth behind an end that nobody saw."""

    async def missed_runs(self, *, tenant: str | None, job_id: JobId | None, limit: int) -> list[MissedRun]:
        """Unstarted runs of occurrences that were missed, those due first first."""

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        """Runs that were written long ahead of their time, and that nobody made ready when it came: their occurrences were missed."""

    async def repace(self, due: Sequence[tuple[RunId, int]]) -> int:
        """Give unstarted, unclaimed runs other due times; they wait as `scheduled` until these come near."""

    async def cancel_waiting(self, ends: Sequence[tuple[RunId, str]]) -> set[RunId]:
        """End unstarted, unclaimed runs as cancelled, each with its reason."""

    async def free_held(self, *, limit: int) -> int:
        """Recount places from live runs, and make ready the first run of every job that holds one though nothing of it is under way."""

    async def chores(self) -> Chores:
        """Whether `sweep_cancelled`, `expire`, `sweep_awaiting`, `free_held`, `sweep_gates`, `forget_flows`, `forget_keys` may find any."""

    async def strays(self, *, grace_ms: int, limit: int) -> list[Stray]:
        """Claimed runs without a registered worker, and those past their timeout and the grace."""

    async def reclaim(self, reclaims: Sequence[Reclaim]) -> set[RunId]:
        """Take runs, by their tokens, from owners that are gone or late, or that say themselves that they lost them."""

    async def forget_flows(self, *, limit: int) -> int:
        """Forget flows whose runs have all had their turn: what is left of them is where their line is anyway."""

    async def queues(self) -> list[tuple[str, str]]:
        """Queues that hold ready runs, each with each of its lanes, paused ones left out."""

    async def queue_states(self) -> list[QueueState]:
        """Every queue that has live runs or is paused."""

    async def pause_queue(self, queue: str, *, note: str | None) -> None:
        """Give no more runs of a queue to workers; those that were given go on."""

    async def resume_queue(self, queue: str) -> bool:
        """Answers whether it was paused."""


class DeadLetterStore(RetryStore, Protocol):
    async def dead_letters(self, match: DeadLetterFilter, *, before: RunId | None, limit: int) -> list[DeadLetter]:
        """Failed runs that nobody has dealt with, latest scheduled first, below a run id."""

    async def dead_letter(self, tenant: str, run_id: RunId) -> DeadLetter | None: ...

    async def dead_letter_count(self, match: DeadLetterFilter) -> int: ...

    async def redrive(self, tenant: str, redrives: Sequence[Redrive]) -> set[RunId]:
        """Write runs in place of dead letters, which are dealt with by that, in one transaction; answers the ids of the dead letters
        for which it happened, now or by the same request before."""

    async def purge(self, tenant: str, run_ids: Collection[RunId]) -> int:
        """Count dead letters as dealt with; their runs stay in the history."""


class ReadStore(Protocol):
    async def now_ms(self) -> int: ...

    async def run(self, tenant: str, run_id: RunId) -> Run | None:
        """A run, live or finished."""

    async def standing(self, tenant: str, run_id: RunId, *, counted: int) -> Standing | None:
        """Where a live run stands. Those before it are counted up to a number."""

    async def waiting_in(self, queue: str, *, limit: int) -> list[Waiting]:
        """Whose runs are ready in a queue, those who have most first. It looks at all of them: it is for people."""

    async def runs_page(
        self,
        match: RunFilter,
        words: Sequence[str] = (),
        *,
        before: RunId | None,
        limit: int,
        down_to: RunId | None = None,
    ) -> list[Run]:
        """Runs, live and finished, latest scheduled first, below a run id, and down to another with it: those that have all of some words
        in their errors, their reasons and the names of their jobs, or words that begin so."""

    async def runs_edge(self, match: RunFilter, *, before: RunId | None, rows: int) -> RunId | None:
        """How far to go down from a run id to look at so many runs, or a few more, whether they match or not: as `down_to` it bounds what a
        page costs. None where that is the end of the list."""


class LedgerStore(Protocol):
    async def unfired(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        """What is told of occurrences between two instants, inclusive, that became no runs: every stretch that touches them, in order."""

    async def occurrence_runs(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[Run]:
        """Runs of kind `scheduled`, live and finished, scheduled between two instants, inclusive, earliest first."""

    async def history_since(self, tenant: str, job_id: JobId) -> int:
        """Runs of a job of the tenant that ended before this instant may be gone from the history."""


class SecretStore(Protocol):
    async def signing_secrets(self, tenants: Collection[str]) -> dict[str, SigningSecrets]:
        """What these tenants sign with; a tenant without a secret is left out."""

    async def rotate_signing_secret(self, tenant: str, secret: str) -> SigningSecrets:
        """Sign with another secret from now on; the one before becomes the previous one."""


class Store(
    SchemaStore,
    JobStore,
    PlanStore,
    RunStore,
    MemberStore,
    LeaseStore,
    ReadStore,
    LedgerStore,
    GateStore,
    DeadLetterStore,
    SecretStore,
    KeyStore,
    RequestStore,
    TenantStore,
    JobTypeStore,
    CalendarStore,
    HistoryStore,
    FinishedJobStore,
    EventStore,
    NoticeStore,
    UpkeepStore,
    Protocol,
):
    """Everything together, with its life: open, use, close. Wake-ups are hints and may be lost."""

    async def open(self) -> None:
        """Connect, or raise StoreUnavailable."""

    async def close(self) -> None: ...

    def listen(self, wake: WakeUp) -> None:
        """Have `wake` called on the loop whenever somebody wrote something of interest."""
