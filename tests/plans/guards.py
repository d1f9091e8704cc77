"""The hot statements of PostgreSQL, each with the indexes that must serve it and the most that it may touch."""

from dataclasses import dataclass
from typing import Any

from dueline.domain import limits
from dueline.domain.lanes import PLAIN
from dueline.store.postgres.fronts import FRONT
from dueline.store.postgres.runs import enqueue_arguments
from tests.support.stores import a_run

FIRST_ID, LAST_ID = bytes(16), b"\xff" * 16
# As `public.id_at` of the seed makes them.
A_JOB_ID = bytes(6) + bytes.fromhex("77777777777777777101")
ALL_SHARDS = range(limits.SHARDS)
DAY_MS = 86_400_000
PAGE = limits.PAGE_ROWS_DEFAULT
FIRE, CLAIM, PROMOTE = limits.FIRE_BATCH, limits.CLAIM_BATCH, limits.PROMOTE_BATCH
QUEUES, RUNNING, HELD = 20, 2_000, 1_000
EXPIRED, LETTERS = 1_000, 500
STALE, USES = 100, 1_000
ASKED = 100


@dataclass(frozen=True)
class Guard:
    """A statement, its arguments, the indexes that must serve it, and how much it may touch.

    An instant among the arguments is given relative to the moment of the seed.
    """

    name: str
    statement: str
    arguments: tuple[Any, ...]
    indexes: frozenset[str]
    rows_max: int
    buffers_max: int


@dataclass(frozen=True)
class At:
    """An instant, relative to the seed."""

    after_ms: int


@dataclass(frozen=True)
class RunsAt:
    """Ids of runs, by their numbers in the seed."""

    numbers: range


@dataclass(frozen=True)
class JobsAt:
    """Ids of jobs, likewise."""

    numbers: range


@dataclass(frozen=True)
class JobAt:
    """The id of one."""

    number: int


def guard(name: str, statement: str, arguments: list[Any], *, by: str, rows_max: int, buffers_max: int) -> Guard:
    return Guard(name, statement, tuple(arguments), frozenset(by.split()), rows_max, buffers_max)


GUARDS = [
    # 694 of a million are due.
    guard(
        "due plans",
        "plans.due",
        [ALL_SHARDS, At(-60_000), At(limits.AHEAD_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    # A million are due, as after an outage.
    guard(
        "due plans of a backlog",
        "plans.due",
        [ALL_SHARDS, At(-DAY_MS), At(DAY_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    guard(
        "due plans of a few shards",
        "plans.due",
        [range(16), At(-DAY_MS), At(DAY_MS), FIRE],
        by="plans_due",
        rows_max=2 * FIRE,
        buffers_max=4 * FIRE,
    ),
    # 694 of a million are due in that second.
    guard(
        "crowds",
        "plans.crowds",
        [ALL_SHARDS, At(-limits.AHEAD_MS), At(limits.AHEAD_MS), limits.CROWD_MIN],
        by="plans_due",
        rows_max=1_000,
        buffers_max=4 * 1_000,
    ),
    guard(
        "claim",
        "runs.claim",
        ["w1", "queue-7", PLAIN, limits.AHEAD_MS, CLAIM, FRONT],
        by="runs_ready",
        rows_max=3 * CLAIM,
        buffers_max=40 * CLAIM,
    ),
    guard(
        "waiting runs that are near",
        "runs.near",
        [limits.AHEAD_MS, PROMOTE, limits.AHEAD_MS],
        by="runs_waiting",
        rows_max=3 * PROMOTE,
        buffers_max=10 * PROMOTE,
    ),
    guard(
        "how many wait",
        "runs.count_waiting",
        [At(limits.READY_AHEAD_MS_MAX), PROMOTE],
        by="runs_waiting",
        rows_max=PROMOTE,
        buffers_max=2 * PROMOTE,
    ),
    guard("what comes next", "runs.upcoming", [], by="runs_waiting", rows_max=1, buffers_max=100),
    # One more than there are queues: a queue has two lanes.
    guard("queues", "runs.queues", [], by="runs_ready", rows_max=2 * QUEUES, buffers_max=10 * QUEUES),
    guard(
        "strays",
        "runs.strays",
        [limits.TIMEOUT_GRACE_MS, limits.RECLAIM_BATCH],
        by="runs_running",
        rows_max=2 * RUNNING,
        buffers_max=3 * RUNNING,
    ),
    guard(
        "held runs to free",
        "runs.free_held",
        [limits.RECLAIM_BATCH],
        by="runs_held runs_job",
        rows_max=4 * HELD,
        buffers_max=20 * HELD,
    ),
    guard(
        "page of jobs",
        "jobs.page",
        ["tenant-7", LAST_ID, None, None, None, None, PAGE],
        by="jobs_page jobs_pkey plans_pkey",
        rows_max=4 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of jobs with a tag",
        "jobs.page",
        ["tenant-7", LAST_ID, "active", None, "blue", None, PAGE],
        by="jobs_page jobs_pkey plans_pkey",
        rows_max=4 * PAGE,
        buffers_max=12 * PAGE,
    ),
    guard(
        "page of jobs by their names",
        "jobs.page_of_names",
        ["tenant-7", "job-1", "active", None, None, None, PAGE, "job-2"],
        by="jobs_name jobs_pkey plans_pkey",
        rows_max=4 * PAGE,
        buffers_max=12 * PAGE,
    ),
    guard(
        "page of few jobs by their names",
        "jobs.page_of_few_names",
        ["tenant-7", "job-1", None, None, None, None, PAGE, "job-2", JobsAt(range(100))],
        by="jobs_pkey",
        rows_max=400,
        buffers_max=1_500,
    ),
    guard(
        "jobs that filters let through",
        "jobs.few",
        ["tenant-7", "active", "default", "blue", "http", PAGE],
        by="job_tags_pkey jobs_queue jobs_state jobs_target",
        rows_max=6 * PAGE,
        buffers_max=20 * PAGE,
    ),
    guard(
        "page of runs",
        "reads.runs_page",
        ["default", FIRST_ID, LAST_ID, None, None, None, PAGE, None],
        by="runs_pkey",
        rows_max=4 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of a job's runs",
        "reads.runs_page_of_job",
        ["default", FIRST_ID, LAST_ID, None, None, None, PAGE, None, A_JOB_ID],
        by="runs_job",
        rows_max=4 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of runs that failed",
        "reads.runs_page_unsuccessful",
        ["default", FIRST_ID, LAST_ID, "failed", None, None, PAGE, None],
        by="",
        rows_max=2 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of runs that succeeded",
        "reads.runs_page_succeeded",
        ["default", FIRST_ID, LAST_ID, "succeeded", None, None, PAGE, None],
        by="",
        rows_max=2 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of runs that wait",
        "reads.runs_page_waiting",
        ["default", FIRST_ID, LAST_ID, "held", None, None, PAGE, None],
        by="",
        rows_max=2 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "page of runs under way",
        "reads.runs_page_running",
        ["default", FIRST_ID, LAST_ID, "running", None, None, PAGE, None],
        by="runs_running",
        rows_max=RUNNING,
        buffers_max=10 * PAGE,
    ),
    guard(
        "a job's unstarted runs",
        "jobs.lock_runs",
        [A_JOB_ID],
        by="runs_job",
        rows_max=2 * PAGE,
        buffers_max=10 * PAGE,
    ),
    guard(
        "enqueue",
        "runs.enqueue",
        enqueue_arguments([a_run() for _ in range(ASKED)], range(ASKED)),
        by="",
        rows_max=ASKED,
        buffers_max=50 * ASKED,
    ),
    guard(
        "next due time",
        "plans.next_due",
        [],
        by="plans_due runs_waiting gates_refill",
        rows_max=2 * 256,
        buffers_max=8 * 256,
    ),
    guard(
        "stale plans",
        "plans.stale",
        [ALL_SHARDS, limits.STALE_BATCH],
        by="plans_stale jobs_pkey",
        rows_max=4 * STALE,
        buffers_max=20 * STALE,
    ),
    guard(
        "overdue plans",
        "recovery.overdue",
        [None, At(DAY_MS), PAGE],
        by="plans_due jobs_pkey",
        rows_max=2 * 256 * PAGE,
        buffers_max=2 * 256 * PAGE,
    ),
    # 694 of a million are.
    guard(
        "overdue plans, counted",
        "recovery.overdue_count",
        [None, At(1)],
        by="plans_due",
        rows_max=2 * 1_000,
        buffers_max=4 * 1_000,
    ),
    guard(
        "missed runs",
        "recovery.missed",
        [None, limits.MISFIRE_GRACE_MS, ASKED],
        by="runs_missed",
        rows_max=2 * ASKED,
        buffers_max=10 * ASKED,
    ),
    guard(
        "missed runs of a job",
        "recovery.missed_of_job",
        [None, limits.MISFIRE_GRACE_MS, ASKED, A_JOB_ID],
        by="runs_job",
        rows_max=2 * ASKED,
        buffers_max=10 * ASKED,
    ),
    guard(
        "lapsed runs",
        "recovery.lapsed",
        [5_000_000 - 100_000, limits.AHEAD_MS, PROMOTE],
        by="runs_waiting",
        rows_max=1_000,
        buffers_max=5 * 1_000,
    ),
    guard("runs a worker is to end", "cancels.cancels_of", ["w1"], by="runs_cancel", rows_max=ASKED, buffers_max=ASKED),
    guard("runs to sweep", "cancels.sweep_found", [ASKED], by="runs_cancel", rows_max=ASKED, buffers_max=ASKED),
    guard(
        "plans that await runs",
        "plans.lock_awaiting",
        [[bytes([number]) * 16 for number in range(ASKED)]],
        by="plans_awaiting",
        rows_max=4 * ASKED,
        buffers_max=10 * ASKED,
    ),
    # Of twenty thousand stretches, a hundred lie in the span.
    guard(
        "what is told of a job's occurrences",
        "ledger.unfired",
        [A_JOB_ID, At(-10_000 * ASKED), At(0), ASKED],
        by="ledger_pkey",
        rows_max=2 * ASKED,
        buffers_max=10 * ASKED,
    ),
    guard(
        "runs of a job's occurrences",
        "ledger.occurrence_runs",
        [A_JOB_ID, FIRST_ID, LAST_ID, 0, At(DAY_MS), ASKED],
        by="runs_job",
        rows_max=4 * ASKED,
        buffers_max=10 * ASKED,
    ),
    guard(
        "plans that follow a calendar",
        "calendars.spoil",
        ["tenant-7", "holidays"],
        by="calendar_uses_pkey plans_pkey",
        rows_max=4 * USES,
        buffers_max=60 * USES,
    ),
    guard(
        "page of versions",
        "jobs.versions_page",
        [A_JOB_ID, limits.VERSION_MAX, 3],
        by="job_versions_pkey",
        rows_max=10,
        buffers_max=20,
    ),
    guard("versions of a job", "jobs.versions_of", [A_JOB_ID], by="job_versions_pkey", rows_max=10, buffers_max=20),
]
