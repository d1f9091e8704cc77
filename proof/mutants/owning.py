"""Builds that do not mind who writes: tokens, epochs, leases and claims."""

from __future__ import annotations

from proof.mutants.building import Edit, Mutant
from proof.mutants.suites import AT_ONCE, BASELINE, FAILING_CALLS, LEASES, MODEL, SIMULATION

_RUNS = "store/sqlite/queries/runs.sql"
_PLANS = "store/sqlite/queries/plans.sql"
_MEMBERS = "store/sqlite/queries/members.sql"
_PG_RUNS = "store/postgres/queries/runs.sql"
_PG_PLANS = "store/postgres/queries/plans.sql"

OWNING = [
    Mutant(
        "finish_any_token",
        "an end is written whatever its token is",
        (
            Edit(
                _RUNS,
                "WHERE r.token = f.value ->> 1 AND r.state = 'running'\nON CONFLICT",
                "WHERE r.state = 'running'\nON CONFLICT",
            ),
            Edit(_RUNS, "WHERE r.token = f.value ->> 1 AND r.state = 'running';", "WHERE r.state = 'running';"),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "finish_any_token_pg",
        "an end is written on PostgreSQL whatever its token is",
        (Edit(_PG_RUNS, "r.token = coalesce(f.token, (SELECT ($2::bigint[])[1])) AND r.state", "r.state"),),
        (MODEL,),
    ),
    Mutant(
        "finish_again",
        "a run that has ended can be ended again, and the last word counts",
        (
            Edit(
                "store/sqlite/runs.py",
                "        accepted = {row[0] for row in rows}\n    end_runs",
                "        accepted = {row[0] for row in rows}\n"
                '    again = "UPDATE history SET state = ?1, finished_ms = ?2 WHERE id = ?3"\n'
                "    for end in finishes:\n"
                "        if session.written(again, str(end.state), end.finished_ms, end.run_id):\n"
                "            accepted.add(end.run_id)\n"
                "    end_runs",
            ),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "fire_any_epoch",
        "a scheduler fires for a shard that others have taken",
        (
            Edit(_PLANS, "s.shard = f.shard AND s.epoch = f.epoch", "s.shard = f.shard"),
            Edit(_PLANS, "s.shard = f.value ->> 1 AND s.epoch = f.value ->> 2", "s.shard = f.value ->> 1"),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "fire_any_epoch_pg",
        "a scheduler fires on PostgreSQL for a shard that others have taken",
        (
            Edit(
                _PG_PLANS, "s.shard = e.shard AND s.epoch = e.epoch\n    FOR SHARE", "s.shard = e.shard\n    FOR SHARE"
            ),
        ),
        (MODEL,),
    ),
    Mutant(
        "retry_reuses_token",
        "a run that is tried again has the token of its last attempt",
        (
            Edit(_RUNS, "state = 'retrying', token = runs.token + 1,", "state = 'retrying',"),
            Edit(_RUNS, "hex(id), token + 1, hex(job_id)", "hex(id), token + (attempt = 0), hex(job_id)"),
            Edit(_RUNS, "state = 'running', token = token + 1,", "state = 'running', token = token + (attempt = 0),"),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "retry_reuses_token_pg",
        "a run that is tried again on PostgreSQL has the token of its last attempt",
        (
            Edit(_PG_RUNS, "state = 'retrying', token = r.token + 1,", "state = 'retrying',"),
            Edit(
                _PG_RUNS,
                "state = 'running', token = r.token + 1,",
                "state = 'running', token = r.token + CASE r.attempt WHEN 0 THEN 1 ELSE 0 END,",
            ),
        ),
        (MODEL,),
    ),
    Mutant(
        "claim_unlocked",
        "two workers that claim within 20 ms get the same run",
        (
            Edit(
                _RUNS,
                "lane = ?3 AND state = 'ready' AND due_ms",
                "lane = ?3 AND (state = 'ready' OR (state = 'running' AND claimed_ms > now_ms() - 20)) AND due_ms",
            ),
            Edit(_RUNS, "WHERE id IN carray(?2) AND state = 'ready'", "WHERE id IN carray(?2)"),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "claim_unlocked_pg",
        "a claim on PostgreSQL locks nothing, so two workers get the same run",
        (
            Edit(_PG_RUNS, "LIMIT $5\n    FOR UPDATE SKIP LOCKED\n", "LIMIT $5\n"),
            Edit(_PG_RUNS, "r.ctid = ANY(ARRAY(\n        SELECT p.at", "r.id = ANY(ARRAY(\n        SELECT p.id"),
        ),
        (AT_ONCE, BASELINE),
    ),
    Mutant(
        "claims_forgotten",
        "a worker that did not hear the answer to its claim does not give back what it got",
        (Edit("worker/worker.py", "        if self._unsure:\n            await self._give_back_unknown()\n", ""),),
        (SIMULATION, FAILING_CALLS),
    ),
    Mutant(
        "lease_never_expires",
        "a process that is dead is never declared so",
        (
            Edit(_MEMBERS, "beat, expires_ms < now_ms() AS expired", "beat, 0 AS expired"),
            Edit(_MEMBERS, "started_ms, expires_ms < now_ms() AS expired", "started_ms, 0 AS expired"),
        ),
        (SIMULATION, MODEL),
    ),
    Mutant(
        "lease_trusted_on",
        "a process trusts its lease for as long as nobody tells it otherwise",
        (Edit("domain/leases.py", "return now_s < self._until_s", 'return self._until_s > float("-inf")'),),
        (SIMULATION, LEASES),
    ),
    Mutant(
        "taken_over_early",
        "a process is declared dead after half a lease of silence, though its lease has not expired",
        (
            Edit(_MEMBERS, "WHERE boot_id = ?1 AND expires_ms < now_ms() RETURNING", "WHERE boot_id = ?1 RETURNING"),
            Edit("engine/roster.py", "silent = node.expired and self._silence", "silent = self._silence"),
            Edit("domain/leases.py", "now_s - seen[1] >= self._lease_s", "now_s - seen[1] >= self._lease_s / 2"),
        ),
        (SIMULATION, MODEL),
    ),
]
