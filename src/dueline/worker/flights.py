"""Runs under way: handed to the executor that fits them, followed until they end, broken off when somebody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.ids import RunId, job_text
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.states import EndReason, HeldReason
from dueline.engine.execution.calls import PreparedCall
from dueline.engine.execution.exchange import HttpCall, HttpFailure, HttpReply
from dueline.engine.execution.outcomes import read_reply
from dueline.engine.execution.preparing import Prepared, PreparedTask
from dueline.runtime.chance import Chance
from dueline.store.shapes import Claim, Postponed
from dueline.tasks.context import Report, RunInfo
from dueline.worker.admission import Admission
from dueline.worker.executors.http import HttpExecutor
from dueline.worker.executors.lanes import TaskCall
from dueline.worker.executors.tasks import TaskReply
from dueline.worker.options import WorkerOptions

_BROKEN_OFF = "the worker was stopped before it ended: its effect is unknown"


class Executor(Protocol):
    """Performs HTTP calls. Every one that is submitted gets exactly one reply, on the loop."""

    def open(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def submit(self, calls: Sequence[HttpCall]) -> None: ...

    def cancel(self, keys: Iterable[RunId]) -> None: ...

    def close(self) -> None: ...


class MakeExecutor(Protocol):
    def __call__(
        self,
        *,
        deliver: Callable[[list[HttpReply]], None],
        monotonic: Callable[[], float],
        may_send: Callable[[], bool],
    ) -> Executor: ...


class Crew(Protocol):
    """Carries out tasks, on the same terms."""

    def open(self, loop: asyncio.AbstractEventLoop) -> None: ...

    def submit(self, calls: Sequence[TaskCall]) -> None: ...

    def cancel(self, keys: Iterable[Any]) -> None: ...

    def room(self) -> int | None: ...

    def has(self, task: str) -> bool: ...

    def limit_of(self, task: str) -> int | None: ...

    def close(self) -> None: ...


class MakeCrew(Protocol):
    def __call__(
        self,
        *,
        deliver: Callable[[list[TaskReply]], None],
        told: Callable[[Any, Report], None],
        monotonic: Callable[[], float],
    ) -> Crew: ...


class Ended(msgspec.Struct, frozen=True, gc=False):
    """A run whose attempt has ended. `cancel` is why it was to be broken off, if somebody asked for that."""

    claim: Claim
    prepared: Prepared
    outcome: Outcome
    started_s: float
    finished_s: float
    cancel: str | None


class Flights:
    """What is launched is told to have ended, once, unless it is broken off by `close`, which answers it."""

    def __init__(
        self,
        *,
        ended: Callable[[list[Ended]], None],
        told: Callable[[Claim, Report], None],
        trusted: Callable[[], bool],
        withheld: Callable[[int], None],
        monotonic: Callable[[], float],
        chance: Chance,
        options: WorkerOptions,
        make_executor: MakeExecutor = HttpExecutor,
        make_crew: MakeCrew | None = None,
    ) -> None:
        """Opens the executors on the running loop.

        An HTTP call may wait for a connection long after it was launched. One whose turn comes while the lease is not `trusted` is not
        sent; `withheld` is told how many such there were, and they are not told to have ended.
        """
        self._ended = ended
        self._told = told
        self._withheld = withheld
        self._monotonic = monotonic
        self._admission = Admission(chance, slots=options.slots, host_share=options.host_share, policy=options.circuit)
        self._flights: dict[RunId, tuple[Claim, Prepared]] = {}
        self._cancels: dict[RunId, str] = {}
        self._left: list[Ended] = []
        self._executor = make_executor(deliver=self._replied, monotonic=monotonic, may_send=trusted)
        self._executor.open(asyncio.get_running_loop())
        self._crew: Crew | None = None
        self._limit_of: Callable[[str], int | None] = lambda _task: None
        if make_crew is not None:
            self._crew = make_crew(deliver=self._carried_out, told=self._reported, monotonic=monotonic)
            self._crew.open(asyncio.get_running_loop())
            self._limit_of = self._crew.limit_of

    def __len__(self) -> int:
        return len(self._flights)

    def run_ids(self) -> set[RunId]:
        return set(self._flights)

    def room_for_tasks(self) -> int | None:
        """How many tasks more could begin at once; None: as many as there are slots."""
        return 0 if self._crew is None else self._crew.room()

    def has(self, task: str) -> bool:
        """Whether a task can be carried out here at all."""
        return self._crew is not None and self._crew.has(task)

    def admit(self, claim: Claim, prepared: Prepared, *, now_s: float, now_ms: int) -> Postponed | None:
        """Take a claim in, or say until when it is to be put off. What was taken in must be launched, or broken off."""
        if claim.run_id in self._flights:
            # It was taken from us while it is still under way here, and came back: the earlier attempt must end first.
            self.cancel(claim.run_id, self._flights[claim.run_id][0].token, EndReason.SUPERSEDED)
            due_ms = now_ms + limits.PUT_OFF_MS_MIN
            return Postponed(claim.run_id, claim.token, due_ms, HeldReason.CONCURRENCY)
        postponed = None
        if isinstance(prepared, PreparedTask):
            limit = self._limit_of(prepared.task)
            if limit is not None:
                postponed = self._admission.ask_task(claim, prepared.task, limit, now_s=now_s, now_ms=now_ms)
        else:
            postponed = self._admission.ask(claim, prepared.host, now_s=now_s, now_ms=now_ms)
        if postponed is not None:
            return postponed
        self._flights[claim.run_id] = (claim, prepared)
        return None

    def launch(self, calls: list[HttpCall], tasks: list[TaskCall]) -> None:
        """Start what was admitted."""
        if calls:
            self._executor.submit(calls)
        if tasks:
            assert self._crew is not None, "tasks stand in lanes that only workers with a crew serve"
            self._crew.submit(tasks)

    def fail(self, reasons: dict[RunId, str]) -> None:
        """End what was admitted and cannot even be started, each with what is wrong."""
        now_s = self._monotonic()
        ended = []
        for run_id, reason in reasons.items():
            outcome = Outcome(kind=OutcomeKind.IMPOSSIBLE, error=f"{HttpFailure.INVALID}: {reason}")
            ended.append(self._land(run_id, outcome, now_s, now_s))
        if ended:
            self._ended(ended)

    def cancel(self, run_id: RunId, token: int, reason: str) -> None:
        """Break off a run, if it is under way by this token and nobody asked before."""
        flight = self._flights.get(run_id)
        if flight is None or flight[0].token != token or run_id in self._cancels:
            return
        self._cancels[run_id] = reason
        if isinstance(flight[1], PreparedCall):
            self._executor.cancel([run_id])
        elif self._crew is not None:
            self._crew.cancel([run_id])

    def close(self) -> list[Ended]:
        """Break off what is under way; answers it, each with an outcome that says that its effect is unknown."""
        self._executor.close()
        if self._crew is not None:
            self._crew.close()
        left, self._left = self._left, []
        return left

    def _replied(self, replies: list[HttpReply]) -> None:
        ended, withheld = [], 0
        for reply in replies:
            if reply.failure in (HttpFailure.CLOSED, HttpFailure.WITHHELD):
                flight = self._land(reply.key, None, reply.started_s, reply.finished_s)
                if reply.failure is HttpFailure.CLOSED:
                    self._left.append(flight)
                else:
                    withheld += 1
                continue
            prepared = self._flights[reply.key][1]
            assert isinstance(prepared, PreparedCall)
            outcome = read_reply(reply, prepared.expected)
            ended.append(self._land(reply.key, outcome, reply.started_s, reply.finished_s))
        if ended:
            self._ended(ended)
        if withheld:
            self._withheld(withheld)

    def _carried_out(self, replies: list[TaskReply]) -> None:
        ended: list[Ended] = []
        for reply in replies:
            outcome = None if reply.closed else reply.outcome
            flight = self._land(reply.key, outcome, reply.started_s, reply.finished_s)
            (self._left if reply.closed else ended).append(flight)
        if ended:
            self._ended(ended)

    def _reported(self, key: RunId, report: Report) -> None:
        self._told(self._flights[key][0], report)

    def _land(self, run_id: RunId, outcome: Outcome | None, started_s: float, finished_s: float) -> Ended:
        """Take a run out. Without an outcome it was broken off by force."""
        claim, prepared = self._flights.pop(run_id)
        if not isinstance(prepared, PreparedTask):
            self._admission.ended(claim, prepared.host, outcome, started_s=started_s, now_s=self._monotonic())
        elif self._limit_of(prepared.task) is not None:
            self._admission.task_ended(prepared.task, now_s=self._monotonic())
        outcome = outcome or Outcome(kind=OutcomeKind.LOST, error=_BROKEN_OFF)
        return Ended(claim, prepared, outcome, started_s, finished_s, self._cancels.pop(run_id, None))


def task_call(claim: Claim, work: PreparedTask, run: str, checkpoint: bytes | None, *, timeout_ms: int) -> TaskCall:
    """The call of one attempt of a task, for a run whose id as text is `run`."""
    info = RunInfo(
        run_id=run,
        job_id=None if claim.job_id is None else job_text(claim.job_id),
        attempt=claim.attempt,
        token=claim.token,
        scheduled_ms=claim.scheduled_ms,
        tenant=claim.tenant,
        checkpoint=checkpoint,
    )
    return TaskCall(claim.run_id, work.task, work.arguments, timeout_ms, info)
