"""Builds that lose, double or forget to say something: history, dead letters, reasons, keys, and what was acknowledged."""

from __future__ import annotations

from proof.mutants.building import Edit, Mutant
from proof.mutants.suites import DECISIONS, KEYS, MODEL, POWER, SIMULATION
from proof.tools import power

_RUNS = "store/sqlite/queries/runs.sql"
_RETRY = "domain/retry.py"

KEEPING = [
    Mutant(
        "archived_twice",
        "a run that ends at its second attempt goes to history, and stays where it was",
        (
            Edit(
                _RUNS,
                "DELETE FROM runs WHERE id IN carray(?1);",
                "DELETE FROM runs WHERE id IN carray(?1) AND attempt <> 2;",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "archive_drops",
        "a run whose end came from a former owner is taken away, and goes nowhere",
        (
            Edit(
                "store/sqlite/runs.py",
                "    end_runs(session, accepted)\n    failed",
                "    end_runs(session, {end.run_id for end in finishes})\n    failed",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "missed_untold",
        "nothing is told of occurrences that were passed over",
        (
            Edit(
                "store/sqlite/plans.py",
                "    tell(session, [(firing.job_id, firing.version, unfired) for firing in effective for unfired in firing.unfired])\n",
                "",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "end_untold",
        "a run that expired does not say so",
        (
            Edit(
                "store/sqlite/queries/cancels.sql",
                "(state = 'expired'; attempt = r.attempt; reason = 'expired')",
                "(state = 'expired'; attempt = r.attempt; reason = NULL)",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "failed_unlisted",
        "a run that failed for good is no dead letter",
        (Edit("store/sqlite/runs.py", "    if failed:\n        keep_failed(session, accepted & failed)\n", ""),),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "one_attempt_more",
        "a run is tried once more than its policy says before it is a dead letter",
        (Edit(_RETRY, "or attempts >= policy.max_attempts", "or attempts > policy.max_attempts"),),
        (SIMULATION, DECISIONS),
    ),
    Mutant(
        "poison_for_ever",
        "a run that takes down its workers is given to the next one for ever",
        (Edit(_RETRY, "return lost >= policy.max_lost", "return False"),),
        (SIMULATION, DECISIONS),
    ),
    Mutant(
        "key_ignored",
        "a run is written although another has its dedupe key",
        (Edit("domain/uniqueness.py", "if not _in_the_way(dedupe, holder, now_ms):", "if True:"),),
        (SIMULATION, KEYS),
    ),
    Mutant(
        "synced_seldom",
        "SQLite acknowledges what has not reached the disk",
        (Edit("store/sqlite/session.py", "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL"),),
        (POWER,),
        power.why_not,
    ),
]
