"""The guards of gates: whoever waits there, and however many, is not looked at by others."""

from dueline.domain import limits
from tests.plans.guards import ASKED, HELD, RUNNING, At, RunsAt, guard


def id_at(number: int) -> bytes:
    """As `public.id_at` of the seed makes it."""
    return bytes(6) + bytes.fromhex(f"{number:x}".rjust(20, "7"))


AWAITED = [id_at(number) for number in range(1_000_001, 1_000_102)]
CROWDED = AWAITED[0]
A_CROWDED_JOB = id_at(50_001)
UNDER_WAY = RunsAt(range(1_020_001, 1_020_001 + ASKED))
PLACED = [id_at(1_000_001 + number % 100) for number in range(1_020_001, 1_020_001 + ASKED)]

GATE_GUARDS = [
    guard(
        "stand at gates",
        "gates.stand",
        [
            UNDER_WAY,
            [0] * ASKED,
            PLACED,
            ["key"] * ASKED,
            ["default"] * ASKED,
            ["key"] * ASKED,
            [0] * ASKED,
            [20] * ASKED,
            [None] * ASKED,
            [1] * ASKED,
            PLACED,
            UNDER_WAY,
        ],
        by="",
        rows_max=3 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard(
        "count places",
        "gates.count_places",
        [PLACED],
        by="gate_places_pkey",
        rows_max=RUNNING + 4 * ASKED,
        buffers_max=30 * ASKED,
    ),
    guard(
        "hold who is refused",
        "gates.hold_refused",
        [UNDER_WAY, [0] * ASKED, [CROWDED] * ASKED, ["concurrency"] * ASKED],
        by="",
        rows_max=RUNNING + 3 * ASKED,
        buffers_max=60 * ASKED,
    ),
    # A hundred runs leave a hundred gates, and let in a hundred of a hundred thousand.
    guard("leave", "gates.leave", [UNDER_WAY], by="", rows_max=RUNNING + 2 * ASKED, buffers_max=60 * ASKED),
    # One of a hundred thousand.
    guard(
        "let the next in",
        "gates.free_next",
        [[CROWDED], [1]],
        by="runs_waits_for runs_pkey",
        rows_max=10,
        buffers_max=400,
    ),
    guard(
        "let some in at many gates",
        "gates.free_next",
        [AWAITED, [1] * len(AWAITED)],
        by="runs_waits_for runs_pkey",
        rows_max=10 * ASKED,
        buffers_max=60 * ASKED,
    ),
    guard("a gate", "gates.look", [CROWDED], by="gates_pkey gate_places_pkey", rows_max=ASKED, buffers_max=ASKED),
    guard("gates to refill", "gates.refilled", [ASKED], by="gates_refill", rows_max=ASKED, buffers_max=ASKED),
    guard(
        "refill",
        "gates.refill",
        [AWAITED, [At(0)] * len(AWAITED)],
        by="runs_waits_for gates_pkey",
        rows_max=6 * ASKED,
        buffers_max=40 * ASKED,
    ),
    guard(
        "places that nobody has",
        "gates.sweep_places",
        [],
        by="",
        rows_max=4 * RUNNING,
        buffers_max=10 * RUNNING,
    ),
    # A hundred and one gates are waited for; there are many more, and many more who wait.
    guard(
        "gates with room for who waits",
        "gates.sweep_found",
        [limits.RECLAIM_BATCH],
        by="runs_waits_for gates_pkey gate_places_pkey",
        rows_max=8 * ASKED + 2 * RUNNING,
        buffers_max=20 * ASKED + 2 * RUNNING,
    ),
    # Those that were seen lately are passed over, in one look at them all.
    guard(
        "gates that nobody needs",
        "gates.forget",
        [limits.GATE_KEPT_MS, limits.RECLAIM_BATCH, limits.JOB_GATE_KEPT_MS],
        by="",
        rows_max=60_000,
        buffers_max=30 * limits.RECLAIM_BATCH,
    ),
    guard(
        "count in who is under way",
        "gates.count_in",
        [CROWDED, "queue-7", None, None],
        by="runs_running",
        rows_max=2 * RUNNING,
        buffers_max=10 * RUNNING,
    ),
    guard(
        "count in who is under way of a job",
        "gates.count_in",
        [CROWDED, None, None, A_CROWDED_JOB],
        by="",
        rows_max=2 * RUNNING,
        buffers_max=10 * RUNNING,
    ),
    # None of the hundred thousand waits for another run of the job.
    guard(
        "let in who waits for another run of its job",
        "runs.leave_places",
        [[id_at(1)], [A_CROWDED_JOB]],
        by="",
        rows_max=1,
        buffers_max=HELD,
    ),
]
