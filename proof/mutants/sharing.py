"""Builds that keep no order among runs: places, limits, overlap, turns, and who is to end."""

from __future__ import annotations

from proof.mutants.building import Edit, Mutant
from proof.mutants.suites import BASELINE, CALLS, CANCELS, DRAINS, MODEL, PLAIN_CALLS, SIMULATION, TURNS

_WORKER = "worker/worker.py"

SHARING = [
    Mutant(
        "places_counted",
        "places at gates are given back by those who have them only: one who dies keeps his",
        (
            Edit(
                "store/sqlite/queries/gates.sql",
                "DELETE FROM gate_places WHERE NOT EXISTS (",
                "DELETE FROM gate_places WHERE false AND NOT EXISTS (",
            ),
            Edit("store/sqlite/strays.py", "    leave_gates(session, [row[0] for row in [*back, *dead]])\n", ""),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "overlap_unchecked",
        "runs of an exclusive job start without its place",
        (
            Edit("store/sqlite/runs.py", "            if placed:\n", "            if run:\n"),
            Edit(
                "store/sqlite/runs.py",
                "rivals = [claim.run_id for claim in picked if claim.exclusive and claim.due_ms <= session.now_ms]",
                "rivals: list[RunId] = []",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "overlap_unchecked_pg",
        "runs of an exclusive job that were claimed ahead start on PostgreSQL without its place",
        (
            Edit(
                "store/postgres/queries/runs.sql",
                "OR EXISTS (SELECT FROM dueline.places AS o WHERE o.job_id = a.job_id AND o.run_id = a.id) AS placed",
                "OR true AS placed",
            ),
        ),
        (MODEL, BASELINE),
    ),
    Mutant(
        "first_come",
        "whoever came first is served first: a noisy tenant starves a quiet one",
        (Edit("domain/fairness.py", "Flow(Level(queue, lane, tenant, f", 'Flow(Level(queue, lane, "", f'),),
        (TURNS,),
    ),
    Mutant(
        "cancel_unheard",
        "a worker does not end a call whose run is to end",
        (
            Edit(
                _WORKER,
                "                self._flights.cancel(asked.run_id, asked.token, asked.reason)\n",
                "                pass\n",
            ),
        ),
        (SIMULATION, CANCELS),
    ),
    Mutant(
        "drain_drops",
        "a worker that leaves does not give back what it has not started",
        (
            Edit(
                _WORKER,
                "        self._unsure = True\n"
                "        await self._give_back_if_unsure()\n"
                "        await self._settle(forced, wait_s=self._options.drain_s)\n"
                "        await self._give_back_if_unsure()\n",
                "        await self._settle(forced, wait_s=self._options.drain_s)\n",
            ),
        ),
        (SIMULATION, DRAINS),
    ),
    Mutant(
        "sends_again",
        "a call whose kept connection ended is sent again by the HTTP client itself",
        (
            Edit(
                "worker/executors/transfer.py",
                "        if self._sent:\n            self._resend_refused = True\n            return pycurl.PREREQFUNC_ABORT\n",
                "",
            ),
        ),
        (CALLS,),
    ),
    Mutant(
        "keeps_what_speaks_unasked",
        "what comes over a connection after a response is taken for the response to the next call",
        (Edit("worker/executors/plain.py", "            and not self.has_more\n", ""),),
        (PLAIN_CALLS,),
    ),
]
