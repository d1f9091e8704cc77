"""The guards of execution: lanes, expiry, cancels, checkpoints and dead letters."""

from dueline.domain import limits
from dueline.domain.lanes import PLAIN
from dueline.store.postgres.fronts import FRONT
from tests.plans.guards import ASKED, CLAIM, EXPIRED, LAST_ID, LETTERS, PAGE, RUNNING, At, RunsAt, guard

# As the seed numbers them.
READY, UNDER_WAY, LATE = (range(first, first + ASKED) for first in (1, 1_020_001, 900_001))

EXECUTION_GUARDS = [
    # In front of them in the queue stand fifty thousand of other lanes, with lower ranks.
    guard(
        "claim in a lane of few",
        "runs.claim",
        ["w1", "queue-7", "gpu", limits.AHEAD_MS, CLAIM, FRONT],
        by="runs_ready",
        rows_max=3 * CLAIM,
        buffers_max=40 * CLAIM,
    ),
    guard(
        "claim in a lane of none",
        "runs.claim",
        ["w1", "queue-7", "eu", limits.AHEAD_MS, CLAIM, FRONT],
        by="runs_ready",
        rows_max=0,
        buffers_max=20,
    ),
    guard(
        "claim in a paused queue",
        "runs.claim",
        ["w1", "queue-3", PLAIN, limits.AHEAD_MS, CLAIM, FRONT],
        by="",
        rows_max=0,
        buffers_max=20,
    ),
    # By their ids, or by one look at everything that is under way: of so few, either will do.
    guard(
        "postpone",
        "runs.postpone",
        [RunsAt(UNDER_WAY), [0] * ASKED, [At(60_000)] * ASKED, ["circuit_open"] * ASKED],
        by="",
        rows_max=RUNNING + 3 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "runs that come too late",
        "cancels.expire_found",
        [ASKED],
        by="runs_expiring",
        rows_max=2 * ASKED,
        buffers_max=10 * ASKED,
    ),
    guard(
        "expire",
        "cancels.expire",
        [RunsAt(LATE)],
        by="",
        rows_max=EXPIRED + 3 * ASKED,
        buffers_max=100 * ASKED,
    ),
    guard(
        "runs to cancel, locked",
        "cancels.lock_runs",
        ["default", RunsAt(READY)],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=20 * ASKED,
    ),
    guard(
        "runs to cancel, live and over",
        "cancels.cancel_found",
        ["default", RunsAt(READY)],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=30 * ASKED,
    ),
    guard(
        "cancel",
        "cancels.cancel_runs",
        [RunsAt(READY), "requested"],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=100 * ASKED,
    ),
    guard(
        "finish",
        "runs.finish",
        [
            RunsAt(UNDER_WAY),
            [0] * ASKED,
            ["failed"] * ASKED,
            [At(0)] * ASKED,
            [At(0)] * ASKED,
            ["{}"] * ASKED,
            ["x"] * ASKED,
            RunsAt(UNDER_WAY),
            True,
            True,
        ],
        by="",
        rows_max=RUNNING + 4 * ASKED,
        buffers_max=160 * ASKED,
    ),
    guard(
        "save",
        "progress.save",
        [RunsAt(UNDER_WAY), [0] * ASKED, ["page 3"] * ASKED, [0.5] * ASKED, [None] * ASKED],
        by="",
        rows_max=RUNNING + 3 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "what runs told",
        "progress.of",
        [RunsAt(UNDER_WAY)],
        by="run_progress_pkey runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=20 * ASKED,
    ),
    guard(
        "sweep what ended runs told",
        "progress.sweep",
        [bytes(16), ASKED],
        by="run_progress_pkey runs_pkey",
        rows_max=5 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "page of dead letters",
        "deadletters.page",
        ["tenant-7", LAST_ID, None, None, None, None, None, PAGE],
        by="dead_letters_page",
        rows_max=3 * PAGE,
        buffers_max=20 * PAGE,
    ),
    # Half of the tenant's, who has most of them, match.
    guard(
        "page of dead letters for a reason",
        "deadletters.page",
        ["default", LAST_ID, None, "queue-0", "poison", At(-1), At(1), PAGE],
        by="",
        rows_max=6 * PAGE,
        buffers_max=20 * PAGE,
    ),
    # A tenant of a few among thousands of others.
    guard(
        "dead letters, counted",
        "deadletters.count",
        ["tenant-7", None, None, None, None, None],
        by="dead_letters_page",
        rows_max=2 * LETTERS,
        buffers_max=2 * LETTERS,
    ),
    guard(
        "purge",
        "deadletters.purge",
        ["default", RunsAt(READY)],
        by="",
        rows_max=3 * ASKED,
        buffers_max=20 * ASKED,
    ),
    guard(
        "a finished run",
        "deadletters.finished",
        ["default", LAST_ID],
        by="",
        rows_max=1,
        buffers_max=20,
    ),
    guard(
        "a finished run, locked",
        "deadletters.lock_finished",
        ["default", LAST_ID],
        by="",
        rows_max=2,
        buffers_max=20,
    ),
    guard(
        "runs in place of dead letters",
        "deadletters.redriven",
        ["default", RunsAt(READY), RunsAt(READY)],
        by="runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=40 * ASKED,
    ),
]
