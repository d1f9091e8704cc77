"""Functions in processes: what takes a process down costs one run, and what does not stop can be killed."""

from __future__ import annotations

import asyncio
from collections import deque

from dueline.domain import limits
from dueline.domain.run import Outcome, OutcomeKind
from dueline.runtime.log import get_log
from dueline.tasks.frames import Begun, Broken, Call, Ended, FromChild, Ready, Stop, Told
from dueline.worker.executors.children import Child
from dueline.worker.executors.lanes import Overseer, Work

log = get_log(__name__)

_PAUSE_S = 0.05
"""The pause before the second of two processes in a row that died without beginning a call; it doubles."""
_CLOSE_WAIT_S = 2.0
"""How long `close` waits for killed processes, each of which takes milliseconds."""


class ProcessLane:
    """A fixed number of processes, each replaced when it dies. Each runs one call at a time, and loses no other when it dies."""

    def __init__(self, overseer: Overseer, *, app: str, processes: int) -> None:
        self._overseer = overseer
        self._app = app
        self._processes = processes
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[Work] = deque()
        self._starting: dict[Child, asyncio.TimerHandle] = {}
        self._idle: list[Child] = []
        self._busy: dict[Child, Work] = {}
        self._begun: set[Child] = set()
        """Those that have said that they began their call."""
        self._dying: set[Child] = set()
        """Killed for a call that was abandoned."""
        self._deaths_in_a_row = 0
        self._trouble: str | None = None
        """Why the last process that did not start did not."""
        self._closed = False

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        for _ in range(self._processes):
            self._spawn()

    @property
    def pids(self) -> list[int]:
        """The processes that can be seen, whatever they are doing."""
        return [child.pid for child in (*self._starting, *self._idle, *self._busy)]

    def submit(self, work: Work) -> None:
        self._waiting.append(work)
        self._fill()

    def withdraw(self, work: Work) -> str:
        self._waiting.remove(work)
        trouble = f"; the last one that started could not: {self._trouble}" if self._trouble else ""
        return f"none of {self._processes} processes was free{trouble}"

    def stop(self, work: Work) -> None:
        self._child_of(work).send(Stop(work.halt.reason or ""))

    def abandon(self, work: Work) -> str:
        child = self._child_of(work)
        del self._busy[child]
        self._begun.discard(child)
        self._dying.add(child)
        child.kill()
        return "it did not stop when asked, and its process was killed: its effect is unknown"

    def close(self) -> None:
        self._closed = True
        self._waiting.clear()
        for timer in self._starting.values():
            timer.cancel()
        children = [*self._starting, *self._idle, *self._busy, *self._dying]
        for child in children:
            child.kill()
        for child in children:
            child.close(wait_s=_CLOSE_WAIT_S)

    def _child_of(self, work: Work) -> Child:
        return next(child for child, its in self._busy.items() if its is work)

    def _fill(self) -> None:
        """Give the calls that wait to the processes that do."""
        while self._waiting and self._idle:
            child, work = self._idle.pop(), self._waiting.popleft()
            self._busy[child] = work
            self._overseer.started(work)
            child.send(Call(work.call.task, work.call.arguments, work.call.info))

    def _spawn(self) -> None:
        assert self._loop is not None
        if self._closed:
            return
        try:
            child = Child(self._loop, self._app, heard=self._heard, gone=self._gone)
        except OSError as error:
            self._trouble = error.strerror or str(error)
            log.warning("no process for tasks", reason=self._trouble)
            self._replace()
            return
        self._starting[child] = self._loop.call_later(limits.TASK_PROCESS_START_S, self._hung, child)

    def _hung(self, child: Child) -> None:
        self._trouble = f"importing {self._app} took longer than {limits.TASK_PROCESS_START_S:g} s"
        child.kill()

    def _replace(self) -> None:
        """Start another: at once after one death, ever later when they follow each other and no call begins in between."""
        assert self._loop is not None
        pause_s = 0.0
        if self._deaths_in_a_row:
            pause_s = min(_PAUSE_S * 2 ** min(self._deaths_in_a_row - 1, 16), limits.TASK_PROCESS_PAUSE_S_MAX)
        self._deaths_in_a_row += 1
        self._loop.call_later(pause_s, self._spawn)

    def _heard(self, child: Child, message: FromChild) -> None:
        match message:
            case Ready() if child in self._starting:
                self._starting.pop(child).cancel()
                self._trouble = None
                self._idle.append(child)
                self._fill()
            case Broken(error):
                self._trouble = error
            case Told(report) if child in self._busy:
                self._overseer.reported(self._busy[child], report)
            case Begun() if child in self._busy:
                self._deaths_in_a_row = 0
                self._begun.add(child)
            case Ended(outcome) if child in self._busy:
                self._begun.discard(child)
                work = self._busy.pop(child)
                if not child.is_dead:
                    self._idle.append(child)
                self._overseer.ended(work, outcome)
                self._fill()

    def _gone(self, child: Child, how: str) -> None:
        if self._closed:
            return
        if child in self._dying:
            self._dying.discard(child)
            self._spawn()
            return
        if (timer := self._starting.pop(child, None)) is not None:
            timer.cancel()
            self._trouble = self._trouble or f"it {how} while it imported {self._app}"
            log.warning("a process for tasks did not start", reason=self._trouble)
        elif (work := self._busy.pop(child, None)) is not None:
            self._lost(child, work, how)
        else:
            log.warning("an idle process for tasks died", how=how)
            self._idle = [each for each in self._idle if each is not child]
        self._replace()

    def _lost(self, child: Child, work: Work, how: str) -> None:
        """A call that its process died of is lost. One that it had not begun only waits again."""
        if child in self._begun:
            self._begun.discard(child)
            log.warning("a process died under a task", task=work.call.task, how=how)
            told = f"the process that ran it {how}: its effect is unknown"
            self._overseer.ended(work, Outcome(kind=OutcomeKind.LOST, error=told))
        elif work.stopping is not None:
            self._overseer.ended(work, Outcome(kind=OutcomeKind.CANCELLED, error="it had not begun"))
        else:
            work.started_s = None
            self._waiting.appendleft(work)
            self._fill()
