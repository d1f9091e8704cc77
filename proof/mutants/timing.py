"""Builds that do not mind the time: what is due, what was missed, who is woken, and by whose clock."""

from __future__ import annotations

from proof.mutants.building import Edit, Mutant
from proof.mutants.suites import LATE_ANSWERS, LOOKS, MODEL, OUTCOMES, OVERLAPS, PLANNING, SIMULATION

_WORKER = "worker/worker.py"
_STARTING = "worker/starting.py"
_PLANNING = "domain/planning.py"

TIMING = [
    Mutant(
        "starts_early",
        "what is held starts up to 50 ms before it is due, and the store has nothing against it",
        (
            Edit("domain/limits.py", "EARLY_MS = 5\n", "EARLY_MS = 60\n"),
            Edit(
                _WORKER,
                "        now_ms = self._membership.time.now_ms()\n        if free > 0:",
                "        now_ms = self._membership.time.now_ms() + 50\n        if free > 0:",
            ),
            Edit(_WORKER, "until_s(next_ms), least_s", "until_s(next_ms - 50), least_s"),
            Edit(_STARTING, "if claim.due_ms > now_ms]", "if claim.due_ms > now_ms + 50]"),
            Edit(_STARTING, "if claim.due_ms <= now_ms]", "if claim.due_ms <= now_ms + 50]"),
        ),
        (SIMULATION,),
    ),
    Mutant(
        "placed_early",
        "the embedded store gives runs their job's place before it is their time by its clock",
        (
            Edit(
                "store/sqlite/queries/runs.sql",
                "WHERE r.due_ms <= now_ms() + ?2\nORDER BY",
                "WHERE r.due_ms <= now_ms() + ?2 + 60000\nORDER BY",
            ),
        ),
        (MODEL, OVERLAPS),
    ),
    Mutant(
        "own_clock",
        "a process takes its own clock for the store's",
        (Edit("runtime/clock.py", "low_ms = store_ms -", "low_ms = self._clock.wall_ms() -"),),
        (SIMULATION,),
    ),
    Mutant(
        "starts_unconfirmed",
        "what came due while the answer to its claim travelled starts without a question",
        (Edit(_WORKER, "if claim.due_ms <= now_ms and claim.due_ms <= claim.claimed_ms", "if claim.due_ms <= now_ms"),),
        (SIMULATION, LATE_ANSWERS),
    ),
    Mutant(
        "not_taken_back",
        "a change of a job leaves what was written ahead for its old definition",
        (Edit("store/sqlite/changes.py", "    if change.unplan:\n", "    if False:\n"),),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "times_as_measured",
        "a start is written as this process measured it, though its claim may be later by the store's clock",
        (
            Edit(
                "engine/execution/outcomes.py",
                "    started_ms = max(started_ms, claim.claimed_ms, claim.due_ms)\n",
                "",
            ),
        ),
        (SIMULATION, OUTCOMES),
    ),
    Mutant(
        "catches_up_one_less",
        "after a gap the first occurrence on time is passed over",
        (
            Edit(
                _PLANNING,
                "following_ms = times.next_after(last_ms)",
                "following_ms = times.next_after(times.next_after(last_ms) or last_ms)",
            ),
        ),
        (SIMULATION, PLANNING),
    ),
    Mutant(
        "catches_up_one_more",
        "one missed occurrence more is run than the policy says",
        (
            Edit(_PLANNING, "            most = 1\n", "            most = 2\n"),
            Edit(_PLANNING, "            most = misfire.cap\n", "            most = misfire.cap + 1\n"),
        ),
        (SIMULATION, PLANNING),
    ),
    Mutant(
        "only_woken",
        "workers look for ready runs when they are woken, and never by themselves",
        (Edit("worker/hints.py", "self._poll_at_s = now_s + limits.POLL_S", "self._poll_at_s = now_s + 86_400.0"),),
        (SIMULATION, LOOKS),
    ),
]
