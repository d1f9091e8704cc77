"""The statements of quotas and of what is forgotten, each with what must serve it. The indexes of history are each day's own."""

from dueline.domain import limits
from tests.plans.guards import A_JOB_ID, FIRST_ID, LAST_ID, At, RunsAt, guard

SWEPT = limits.HISTORY_SWEPT_MAX
A_SECOND_EACH_MS = 1_000
OLD_MS = -100_000_000
JOBS_OF_A_TENANT = 2_000

QUOTA_GUARDS = [
    guard(
        "a tenant's jobs",
        "tenants.count_jobs",
        ["tenant-7"],
        by="",
        rows_max=JOBS_OF_A_TENANT,
        # Before a first vacuum the rows are looked at too.
        buffers_max=2 * JOBS_OF_A_TENANT,
    ),
    guard(
        "how far a sweep goes",
        "history.ended",
        [At(OLD_MS), At(0), SWEPT],
        by="",
        rows_max=3 * SWEPT,
        buffers_max=3 * SWEPT,
    ),
    guard(
        "forget runs",
        "history.forget",
        [At(OLD_MS), At(OLD_MS + SWEPT * A_SECOND_EACH_MS), ["default", "tenant-7"]],
        by="",
        rows_max=2 * SWEPT,
        buffers_max=10 * SWEPT,
    ),
    guard(
        "forget their dead letters",
        "history.forget_letters",
        [RunsAt(range(SWEPT))],
        by="dead_letters_pkey",
        rows_max=2 * SWEPT,
        buffers_max=10 * SWEPT,
    ),
    guard(
        "old runs of a job",
        "retentions.looked",
        [A_JOB_ID, FIRST_ID, LAST_ID, SWEPT],
        by="",
        rows_max=3 * SWEPT,
        buffers_max=10 * SWEPT,
    ),
    guard(
        "forget what was told",
        "history.forget_told",
        [At(-3_600_000), SWEPT],
        by="ledger_told",
        rows_max=3 * SWEPT,
        buffers_max=10 * SWEPT,
    ),
    guard(
        "deleted jobs without runs",
        "history.deleted",
        [At(0), limits.JOBS_FORGOTTEN_MAX],
        by="jobs_deleted runs_job",
        rows_max=2 * limits.JOBS_FORGOTTEN_MAX,
        buffers_max=30 * limits.JOBS_FORGOTTEN_MAX,
    ),
    guard(
        "jobs that have finished",
        "jobs.finished",
        [0, FIRST_ID, 0, limits.EXPIRE_BATCH],
        by="jobs_finished",
        rows_max=2 * limits.EXPIRE_BATCH,
        buffers_max=10 * limits.EXPIRE_BATCH,
    ),
]
