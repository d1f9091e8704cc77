"""What drives the model and both stores through the same moves, and compares them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from dueline.domain.changes import JobChange, JobInHand
from dueline.domain.errors import NotFound
from dueline.domain.gates import Gate, Scope
from dueline.domain.ids import JobId, RunId, new_run_id
from dueline.domain.job import Job
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Position
from dueline.domain.run import Attempt, NewRun, Outcome, OutcomeKind
from dueline.store.protocol import Store
from dueline.store.shapes import Blocked, Claim, Firing
from tests.model import jobs
from tests.model.expectations import answers, rows
from tests.model.sides import PostgresSides, Side, ask, read, sqlite_side
from tests.model.world import World, check_turns, ranked
from tests.support.stores import START_MS, a_run

T = TypeVar("T")

GATES = (Gate(Scope.KEY, "one", most=1), Gate(Scope.KEY, "two", most=2), Gate(Scope.QUEUE, "default", most=2))

TIMEOUT_MS = 2_000
"""Of every attempt."""
Step = tuple[str, dict[str, Any]]


def move(weight: int = 1, **arguments: st.SearchStrategy[Any]) -> Callable[[T], T]:
    """Something that the machine may do at any time, with what it is done with, and how often."""

    def marked(method: T) -> T:
        method.__dict__["drawn"] = weight, st.fixed_dictionaries(arguments)
        return method

    return marked


def steps(machine: type[Driver]) -> st.SearchStrategy[Step]:
    """A name of a move, and what it is done with."""
    moves = {
        name: method.drawn
        for name, method in inspect.getmembers(machine, inspect.isfunction)
        if hasattr(method, "drawn")
    }
    names = [name for name, (weight, _) in moves.items() for _ in range(weight)]
    return st.sampled_from(names).flatmap(lambda name: st.tuples(st.just(name), moves[name][1]))


class Driver(RuleBasedStateMachine):
    """One example: an empty world, and two empty stores."""

    def __init__(self, runner: asyncio.Runner, postgres: PostgresSides) -> None:
        super().__init__()
        self._runner = runner
        self._opened = AsyncExitStack()
        self.world = World(START_MS)
        self.world.gates = {gate.id: most for gate in GATES if (most := gate.most) is not None}
        self.world.queue_gates = {gate.id for gate in GATES if gate.scope is Scope.QUEUE}
        self.sides: list[Side] = runner.run(self._open(postgres))
        self.jobs: dict[JobId, Job] = {}
        self.lines: list[list[bytes]] = []
        """Live runs in the order of their ranks, in each store, as they were after the last move."""
        self.claims: list[Claim] = []
        self.blocked: list[Blocked] = []
        self.firings: list[Firing] = []
        self.written: list[NewRun] = []
        self._is_sound = False
        self._numbers = 0
        self._due_ms: set[int] = set()

    async def _open(self, postgres: PostgresSides) -> list[Side]:
        return [await self._opened.enter_async_context(sqlite_side()), await postgres.begin()]

    def teardown(self) -> None:
        try:
            if self._is_sound:
                self.ask_for_all()
        finally:
            self._runner.run(self._opened.aclose())

    def each(self, move: Callable[[Store], Awaitable[T]]) -> list[T]:
        """Make a move on both stores."""

        async def moved() -> list[T]:
            return [await move(side.store) for side in self.sides]

        self._is_sound = False
        return self._runner.run(moved())

    def both(self, move: Callable[[Store], Awaitable[T]]) -> T:
        """The same, where both must give the same answer."""
        one, other = self.each(move)
        assert one == other, f"SQLite answers {one}, PostgreSQL {other}"
        return one

    @invariant()
    def all_is_as_it_must_be(self) -> None:
        async def look() -> list[tuple[list[bytes], dict[str, Any]]]:
            return [await read(side) for side in self.sides]

        found = self._runner.run(look())
        self._compare(rows(self.world), *(seen for _, seen in found))
        self.lines = [line for line, _ in found]
        for line in self.lines:
            check_turns(ranked(self.world, line))
        self._is_sound = True

    def ask_for_all(self) -> None:
        """What the stores tell comes from the rows that were compared: to ask now and then is enough."""

        async def look() -> list[dict[str, Any]]:
            return [await ask(side, list(self.jobs), list(GATES)) for side in self.sides]

        self._compare(answers(self.world), *self._runner.run(look()))

    def _compare(self, modelled: dict[str, Any], *seen: dict[str, Any]) -> None:
        for side, found in zip(self.sides, seen, strict=True):
            for key, value in modelled.items():
                assert found[key] == value, f"{key}: {side.dialect} has {found[key]}, and the model {value}"

    def set_time(self, now_ms: int) -> None:
        async def move() -> None:
            for side in self.sides:
                await side.clock.set_ms(now_ms)

        self._runner.run(move())
        self.world.now_ms = now_ms

    def later_ms(self, delay_ms: int) -> int:
        """An instant at which no other run is due: between two of one instant the stores may choose."""
        due_ms = self.world.now_ms + delay_ms
        while due_ms in self._due_ms:
            due_ms += 1
        self._due_ms.add(due_ms)
        return due_ms

    def entropy(self) -> bytes:
        self._numbers += 1
        return self._numbers.to_bytes(10, "big")

    def new_run(self, job: Job | None, *, due_ms: int, **fields: Any) -> NewRun:
        exclusive = job is not None and job.definition.overlap is not Overlap.ALLOW
        run_id = new_run_id(due_ms, self.entropy())
        run = a_run(job, due_ms=due_ms, **({"id": run_id, "exclusive": exclusive, "timeout_ms": TIMEOUT_MS} | fields))
        self.written.append(run)
        return run

    def any_claims(self, picks: Sequence[int], token: int) -> list[Claim]:
        """Some of all claims that were ever given, the last ones first, with their tokens moved by so much. Of each run one."""
        found = {claim.run_id: claim for claim in (picked(self.claims, pick) for pick in picks)}
        return [msgspec.structs.replace(claim, token=claim.token + token) for claim in found.values()]

    def any_run(self, pick: int) -> RunId:
        """One of all runs that were ever written, or one that never was."""
        return picked([RunId(bytes(16)), *(run.id for run in self.written)], pick)

    def record(self, claim: Claim, kind: OutcomeKind) -> Attempt:
        """How the attempt ended, as whoever has the run tells it; about a run that others have by now, anything."""
        run = self.world.held(claim.run_id, claim.token)
        now_ms = self.world.now_ms
        return Attempt(
            attempt=claim.attempt,
            token=claim.token,
            worker="nobody" if run is None or run.worker is None else run.worker,
            claimed_ms=claim.claimed_ms,
            started_ms=None if kind is OutcomeKind.LOST else now_ms,
            finished_ms=now_ms,
            outcome=Outcome(kind=kind),
        )

    def change(self, job_id: JobId, wanted: jobs.Change) -> None:
        """A store hands the job over with the runs that have not started, and writes what is wanted."""
        hands: list[JobInHand] = []

        def decide(hand: JobInHand) -> JobChange:
            hands.append(hand)
            return JobChange(
                state=wanted.state,
                definition=wanted.definition,
                position=Position(next_ms=wanted.next_ms, due_ms=wanted.next_ms, awaiting=_run_id(wanted.awaiting)),
                pause_note=wanted.pause_note,
                deleted=wanted.deleted,
                unplan=tuple(map(RunId, wanted.unplan)),
                hold=tuple(map(RunId, wanted.hold)),
                free=tuple(map(RunId, wanted.free)),
                cancel=tuple((RunId(run_id), wanted.reason) for run_id in wanted.cancel),
                stop=wanted.reason if wanted.stop else None,
            )

        tenant = self.jobs[job_id].tenant
        if self.world.jobs[job_id].deleted:
            assert self.both(lambda store: _refused(store.change_job(tenant, job_id, decide)))
            return
        unstarted = [
            (run.id, run.kind, run.state, run.scheduled_ms, run.due_ms, run.begun_ms is not None, run.reason)
            for run in jobs.unstarted(self.world, job_id)
        ]
        self.jobs[job_id] = self.both(lambda store: store.change_job(tenant, job_id, decide))
        for hand in hands:
            assert hand.now_ms == self.world.now_ms
            assert [msgspec.structs.astuple(run) for run in hand.runs] == unstarted
        jobs.change(self.world, job_id, wanted)


def picked(things: Sequence[T], pick: int) -> T:
    """The last one for 0, and so on backwards, round and round."""
    return things[-1 - pick % len(things)]


def _run_id(run_id: bytes | None) -> RunId | None:
    return None if run_id is None else RunId(run_id)


async def _refused(change: Awaitable[Job]) -> bool:
    try:
        await change
    except NotFound:
        return True
    return False
