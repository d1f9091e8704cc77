"""The guards of how far a page of runs looks: at ids alone, and at no more than it was told to."""

from dueline.domain.limits import RUNS_LOOKED_FIRST
from tests.plans.guards import A_JOB_ID, FIRST_ID, LAST_ID, guard

# Ids of an index lie close together. Some must be looked up until they were vacuumed.
ROWS = RUNS_LOOKED_FIRST

EDGE_GUARDS = [
    guard(
        "edge of runs",
        "reads.edge",
        [FIRST_ID, LAST_ID, ROWS, True, True],
        by="runs_pkey",
        rows_max=3 * ROWS,
        buffers_max=3 * ROWS,
    ),
    guard(
        "edge of finished runs",
        "reads.edge",
        [FIRST_ID, LAST_ID, ROWS, False, True],
        by="",
        rows_max=2 * ROWS,
        buffers_max=2 * ROWS,
    ),
    guard(
        "edge of a job's runs",
        "reads.edge_of_job",
        [FIRST_ID, LAST_ID, ROWS, A_JOB_ID],
        by="runs_job",
        rows_max=200,
        buffers_max=200,
    ),
    guard(
        "edge of runs that failed",
        "reads.edge_unsuccessful",
        [FIRST_ID, LAST_ID, ROWS, "default", "failed"],
        by="",
        rows_max=2 * ROWS,
        buffers_max=2 * ROWS,
    ),
]
