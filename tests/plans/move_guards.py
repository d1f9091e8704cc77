"""The guards of moves by id: whoever gives a hundred runs has a hundred looked at, and compared with nothing but themselves."""

from dueline.domain import limits
from dueline.store.postgres.part import run_columns, told_columns
from tests.plans.guards import A_JOB_ID, ASKED, At, JobsAt, RunsAt, guard

# As the seed numbers them.
READY, UNDER_WAY = RunsAt(range(1, 1 + ASKED)), RunsAt(range(1_020_001, 1_020_001 + ASKED))
# Due at the moment of the seed.
DUE_JOBS = JobsAt(range(1_440, 1_440 * (ASKED + 1), 1_440))
TOKENS, REASONS = [0] * ASKED, ["overlap"] * ASKED
HALF = ASKED // 2
NEXT = [At(60_000)] * HALF + [None] * HALF

MOVE_GUARDS = [
    guard(
        "confirm",
        "runs.confirm",
        [UNDER_WAY, TOKENS, limits.EARLY_MS],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=30 * ASKED,
    ),
    guard(
        "confirm what somebody may be changing",
        "runs.confirm_marked",
        [UNDER_WAY, TOKENS, limits.EARLY_MS],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=30 * ASKED,
    ),
    guard(
        "confirm what must not overlap",
        "runs.confirm_exclusive",
        [UNDER_WAY, TOKENS, limits.EARLY_MS],
        by="runs_pkey",
        rows_max=6 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard("release", "runs.release", [UNDER_WAY, TOKENS], by="runs_pkey", rows_max=3 * ASKED, buffers_max=60 * ASKED),
    guard(
        "retry",
        "runs.retry",
        [UNDER_WAY, TOKENS, [At(60_000)] * ASKED, ["{}"] * ASKED],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "hold who is in another's way",
        "runs.hold_blocked",
        [UNDER_WAY, TOKENS],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "skip who is in another's way",
        "runs.skip_blocked",
        [UNDER_WAY, TOKENS, "overlap"],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "reclaim",
        "runs.reclaim",
        [
            UNDER_WAY,
            TOKENS,
            ["ready"] * HALF + ["failed"] * HALF,
            [1] * ASKED,
            [None] * ASKED,
            ["lost"] * ASKED,
            ["{}"] * ASKED,
            ["w1"] * ASKED,
            [1] * ASKED,
            limits.TIMEOUT_GRACE_MS,
        ],
        by="runs_pkey",
        rows_max=6 * ASKED,
        buffers_max=160 * ASKED,
    ),
    # Half of the schedules are over with this.
    guard(
        "fire",
        "plans.fire",
        [
            [0],
            [0],
            DUE_JOBS,
            [0] * ASKED,
            [1] * ASKED,
            [At(0)] * ASKED,
            NEXT,
            NEXT,
            [None] * ASKED,
            [None] * ASKED,
            limits.AHEAD_MS,
            *run_columns([], []),
            *told_columns([]),
            [],
        ],
        by="plans_pkey jobs_pkey",
        rows_max=6 * ASKED,
        buffers_max=80 * ASKED,
    ),
    guard(
        "follow",
        "plans.follow",
        [UNDER_WAY, DUE_JOBS, [At(0)] * ASKED],
        by="",
        rows_max=3 * ASKED,
        buffers_max=20 * ASKED,
    ),
    guard(
        "cancel who has not started",
        "cancels.cancel_waiting",
        [READY, REASONS],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=120 * ASKED,
    ),
    guard(
        "end those who are to end",
        "cancels.sweep_cancelled",
        [RunsAt(range(1_022_001, 1_022_021))],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "those in the way",
        "cancels.displace_found",
        [UNDER_WAY, TOKENS, READY],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "cancel with a change of the job",
        "jobs.cancel_runs",
        [READY, REASONS],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=120 * ASKED,
    ),
    # One in fifty thousand of a million.
    guard(
        "ask a job's runs to stop",
        "jobs.stop_runs",
        [A_JOB_ID, "job_cancelled"],
        by="runs_job",
        rows_max=ASKED,
        buffers_max=ASKED,
    ),
    guard("hold a job open", "jobs.hold_open", [A_JOB_ID], by="jobs_pkey", rows_max=2, buffers_max=10),
    guard(
        "free with other ranks",
        "jobs.free_runs",
        [RunsAt(range(1_022_101, 1_022_101 + ASKED)), range(ASKED)],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "repace",
        "recovery.repace",
        [READY, [At(60_000)] * ASKED],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=80 * ASKED,
    ),
]
