"""Dead letters: failed runs that nobody has dealt with. They are looked at, tried again as new runs, or put aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.errors import NotFound
from dueline.domain.ids import RunId, run_text
from dueline.domain.job import Execution
from dueline.domain.recovery import Pace
from dueline.domain.redriving import RedriveVersion, redriven_id, redriven_run
from dueline.domain.run import Run
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.redriving import Executions, executions_of, was_redriven
from dueline.runtime.clock import StoreTime
from dueline.store.protocol import DeadLetterStore, JobStore, ReadStore
from dueline.store.retries import FinishedRun
from dueline.store.shapes import DeadLetter, DeadLetterFilter, Redrive

EditExecution = Callable[[Run, Execution], Execution]
"""From a dead run and what it would execute again to what it shall execute. May raise Invalid."""


class DeadLettersStore(DeadLetterStore, JobStore, ReadStore, Protocol):
    """What dead letters need of the store."""


class RedriveAsked(msgspec.Struct, frozen=True, kw_only=True):
    """How to try again. The same `key` makes the same runs, however often it is asked; `rate` is runs a second."""

    key: str
    version: RedriveVersion = RedriveVersion.PINNED
    rate: float = limits.REDRIVE_RATE_DEFAULT
    dry_run: bool = False
    start_ms: int | None = None
    """When the first of many is due, if that is later than now: where the call before this one ended."""


class RedriveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a redrive of many did, or would do; `left` of the dead letters that match are for the next call."""

    matched: int
    redriven: tuple[RunId, ...]
    """The dead letters that were tried again, in this call or by the same wish before."""
    left: int
    now_ms: int
    """The time of the call. What fails later, a redriven run for example, can be told from what had failed by then."""
    free_ms: int
    """When the next one could be due at the same pace."""


class DeadLetters:
    def __init__(self, store: DeadLettersStore, time: Callable[[], StoreTime], quotas: QuotaKeeper) -> None:
        self._store = store
        self._time = time
        self._quotas = quotas

    async def page(self, match: DeadLetterFilter, *, before: RunId | None, limit: int) -> list[DeadLetter]:
        return await self._store.dead_letters(match, before=before, limit=limit)

    async def count(self, match: DeadLetterFilter) -> int:
        return await self._store.dead_letter_count(match)

    async def get(self, tenant: str, run_id: RunId) -> DeadLetter:
        letter = await self._store.dead_letter(tenant, run_id)
        if letter is None:
            raise NotFound("dead letter", run_text(run_id))
        return letter

    async def execution_of(self, letter: DeadLetter) -> Execution:
        """What a dead letter executed: the payload to look at, or to correct."""
        _, execution = (await self._executions([letter], RedriveVersion.PINNED))[letter.run.id]
        return execution

    async def redrive(
        self, tenant: str, run_id: RunId, asked: RedriveAsked, *, edit: EditExecution | None = None
    ) -> RunId:
        """Try one again, with another execution where it is corrected; answers the new run."""
        new_id = redriven_id(run_id, asked.key)
        letter = await self._store.dead_letter(tenant, run_id)
        if letter is not None:
            version, execution = (await self._executions([letter], asked.version))[run_id]
            if edit is not None:
                execution = edit(letter.run, execution)
                (await self._quotas.of(tenant)).check_payload(execution.target)
            run = redriven_run(
                letter.run,
                version,
                execution,
                key=asked.key,
                due_ms=self._time().now_ms(),
                edited=edit is not None,
            )
            if await self._store.redrive(tenant, [Redrive(run_id, run)]):
                return new_id
        # Somebody dealt with it: by this very wish, or otherwise.
        if not await was_redriven(self._store, tenant, run_id, new_id):
            raise NotFound("dead letter", run_text(run_id))
        return new_id

    async def redrive_many(self, match: DeadLetterFilter, asked: RedriveAsked) -> RedriveAnswer:
        """Try again all that match, as many as one call takes."""
        matched = await self._store.dead_letter_count(match)
        letters = await self._store.dead_letters(match, before=None, limit=limits.REDRIVE_BATCH)
        run_ids = tuple(letter.run.id for letter in letters)
        now_ms, pace = self._time().now_ms(), Pace(asked.rate)
        start_ms = max(now_ms, asked.start_ms or 0)
        if asked.dry_run or not letters:
            left = max(matched - len(letters), 0)
            return RedriveAnswer(matched=matched, redriven=run_ids, left=left, now_ms=now_ms, free_ms=start_ms)
        executions = await self._executions(letters, asked.version)
        redrives = []
        for letter in letters:
            version, execution = executions[letter.run.id]
            due_ms = pace.next_ms(start_ms)
            run = redriven_run(letter.run, version, execution, key=asked.key, due_ms=due_ms, edited=False)
            redrives.append(Redrive(letter.run.id, run))
        done = await self._store.redrive(match.tenant, redrives)
        return RedriveAnswer(
            matched=matched,
            redriven=tuple(run_id for run_id in run_ids if run_id in done),
            left=max(matched - len(letters), 0),
            now_ms=now_ms,
            free_ms=pace.next_ms(start_ms),
        )

    async def purge(self, match: DeadLetterFilter) -> int:
        """Put aside all that match, as many as one call takes; their runs stay in the history."""
        letters = await self._store.dead_letters(match, before=None, limit=limits.REDRIVE_BATCH)
        return await self._store.purge(match.tenant, [letter.run.id for letter in letters]) if letters else 0

    async def purge_one(self, tenant: str, run_id: RunId) -> None:
        if not await self._store.purge(tenant, [run_id]):
            raise NotFound("dead letter", run_text(run_id))

    async def _executions(self, letters: Sequence[DeadLetter], choice: RedriveVersion) -> Executions:
        return await executions_of(self._store, [FinishedRun(letter.run, letter.spec) for letter in letters], choice)
