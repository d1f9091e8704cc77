"""The guards of dispatch: ranks, and what they are made from."""

from dueline.domain import limits
from dueline.domain.fairness import COST, KEYS_TOLD_APART, SHARE_MIN, clock_of
from dueline.domain.job import PRIORITIES
from tests.plans.guards import ASKED, QUEUES, At, RunsAt, guard

# As the seed numbers them.
WAITING = range(1_000_001, 1_000_001 + ASKED)
WORTH = [clock_of(0, priority=priority) for priority in PRIORITIES]
RULES = [WORTH, 30_000, KEYS_TOLD_APART, limits.AHEAD_MS, float(COST), SHARE_MIN, max(WORTH)]
ONE_RUN = [[1.0], [1], [0], [1]]
TENANTS = [f"tenant-{number}" for number in range(ASKED)]
DEFAULTS, KEYS = ["default"] * ASKED, [f"key-{number}" for number in range(1, ASKED + 1)]
PLAIN_FLOWS = [["queue-7"] * ASKED, [""] * ASKED, TENANTS, ["5f"] * ASKED, [""] * ASKED]

DISPATCH_GUARDS = [
    guard(
        "promote",
        "runs.promote",
        [RunsAt(WAITING), range(ASKED)],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=40 * ASKED,
    ),
    # One in a line of a million.
    guard(
        "take turns of a flow",
        "flows.take",
        [["queue-8"], [""], ["tenant-8"], ["5f"], [""], *ONE_RUN, *RULES],
        by="runs_ready flows_pkey",
        rows_max=20,
        buffers_max=40,
    ),
    guard(
        "take turns of many flows",
        "flows.take",
        [*PLAIN_FLOWS, [1.0] * ASKED, range(1, ASKED + 1), [0] * ASKED, [10] * ASKED, *RULES],
        by="runs_ready flows_pkey",
        rows_max=20 * ASKED,
        buffers_max=60 * ASKED,
    ),
    # Five times as many wait.
    guard(
        "take turns of a flow of many keys",
        "flows.take",
        [["queue-7"], [""], ["many-keys"], ["5f"], ["key-1"], *ONE_RUN, *RULES],
        by="runs_ready flows_pkey",
        rows_max=KEYS_TOLD_APART + 20,
        buffers_max=KEYS_TOLD_APART,
    ),
    # Nothing is ready in it.
    guard(
        "take turns of an idle line",
        "flows.take",
        [["queue-7"], ["eu"], ["tenant-7"], ["5f"], [""], *ONE_RUN, *RULES],
        by="runs_ready flows_finish",
        rows_max=20,
        buffers_max=40,
    ),
    guard(
        "reserve",
        "flows.reserve",
        [*PLAIN_FLOWS, [At(0)] * ASKED, [1] * ASKED],
        by="",
        rows_max=ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "clocks of all lines",
        "flows.clocks",
        [WORTH, 30_000, max(WORTH)],
        by="runs_ready",
        rows_max=10 * QUEUES,
        buffers_max=30 * QUEUES,
    ),
    guard(
        "forget flows",
        "flows.forget",
        [["queue-7", "queue-8"], ["", ""], [At(-1_100_000)] * 2, ASKED],
        by="flows_finish",
        rows_max=4 * ASKED,
        buffers_max=20 * ASKED,
    ),
    # By their order a half of them is live, and the other over.
    guard(
        "keys, locked",
        "uniques.lock",
        [DEFAULTS, KEYS, RunsAt(WAITING), [0] * ASKED, [At(0)] * ASKED, 0],
        by="",
        rows_max=ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "runs that have keys",
        "uniques.found",
        [DEFAULTS, KEYS],
        by="uniques_pkey runs_pkey",
        rows_max=4 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "keys pass to others",
        "uniques.take",
        [DEFAULTS, KEYS, RunsAt(WAITING), [0] * ASKED, [At(0)] * ASKED, 0],
        by="",
        rows_max=2 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "reschedule",
        "uniques.reschedule",
        [RunsAt(WAITING), [At(60_000)] * ASKED],
        by="runs_pkey",
        rows_max=3 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "forget keys",
        "uniques.forget",
        [ASKED, 60_000],
        by="uniques_sweep runs_pkey",
        rows_max=8 * ASKED,
        buffers_max=60 * ASKED,
    ),
]
