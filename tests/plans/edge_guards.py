"""The guards of how far pages look: at ids alone, and at no more than they were told to."""

from dueline.domain.limits import RUNS_LOOKED_FIRST
from tests.plans.guards import A_JOB_ID, FIRST_ID, LAST_ID, PAGE, JobAt, guard

# Ids of an index lie close together. Some must be looked up until they were vacuumed.
ROWS = RUNS_LOOKED_FIRST
# Of new words that are gathered, and read by everyone who looks for one, as the index says.
GATHERED_PAGES = 8
# Of two hundred thousand jobs; all of them are asked.
BLOCKS, PATIENCE_MS = 13, 60_000

EDGE_GUARDS = [
    guard(
        "edge of jobs",
        "jobs.edge",
        ["tenant-7", LAST_ID, ROWS],
        by="jobs_page",
        rows_max=2 * ROWS,
        buffers_max=2 * ROWS,
    ),
    # None of them has the word: all down to the edge are looked at, and no others.
    guard(
        "search of jobs",
        "jobs.search",
        ["tenant-7", LAST_ID, None, None, None, None, PAGE, "'tenant-7\x1fnowhere':*", JobAt(190_007)],
        by="jobs_page job_words_pkey",
        rows_max=4 * 100,
        buffers_max=10 * 100,
    ),
    # One of all has the word, and two thousand have the other.
    guard(
        "search of jobs by their words",
        "jobs.search_blocks",
        [
            "tenant-7",
            LAST_ID,
            None,
            None,
            PAGE,
            "'\x1etenant-7\x1f100007':* & '\x1etenant-7\x1fjob':*",
            PAGE,
            PATIENCE_MS,
        ],
        by="jobs_pkey",
        rows_max=4,
        buffers_max=BLOCKS * (2 * GATHERED_PAGES + 30),
    ),
    # All of a block that have the word are found, and no more of them are looked up than a page has.
    guard(
        "search of jobs by a word of many",
        "jobs.search_blocks",
        [
            "tenant-7",
            LAST_ID,
            None,
            None,
            PAGE,
            "'\x1etenant-7\x1fjob':* & '\x1etenant-7\x1f@default'",
            PAGE,
            PATIENCE_MS,
        ],
        by="jobs_pkey",
        rows_max=4 * PAGE,
        buffers_max=BLOCKS * (2 * GATHERED_PAGES + 30) + 20 * PAGE,
    ),
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
