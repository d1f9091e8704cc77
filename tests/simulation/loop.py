"""An event loop on virtual time: when nothing is ready it jumps to the next timer. It has no selector, no threads and no real clock.

Everything that runs on it belongs to a process, or to nobody: to the network, the store and the target. What belongs to a process that is
paused waits until it goes on, as behind a SIGSTOP.
"""

from __future__ import annotations

import asyncio
from asyncio.events import Handle, TimerHandle
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any, Protocol, TypeVarTuple


class Owner(Protocol):
    """A process, as far as the loop has to know it."""

    paused: bool
    frozen: list[Ready]
    """What became ready while it was paused, in order."""
    tasks: list[asyncio.Task[Any]]


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
Call = Callable[..., object]
Ready = tuple[Handle | None, Call, tuple[Any, ...], Context, "Owner | None"]
"""Something to call, in whose context, and whose it is; and the handle by which it can still be called off, if there is one."""
Ts = TypeVarTuple("Ts")
_TASKS_KEPT = 64


class Standstill(Exception):
    """Nothing is ready, and no timer will ever make anything so."""


class Timer(TimerHandle):
    """Something to call later, with its owner, and without what asyncio keeps in case somebody wants to look at it: there are millions."""

    __slots__ = ("call", "context", "owner")

    def __init__(self, when: float, call: Call, args: tuple[Any, ...], context: Context | None) -> None:
        self._when = when
        self.call = call
        self._args = args
        self._cancelled = False
        self.context = copy_context() if context is None else context
        self.owner = self.context.get(OWNER)

    def cancel(self) -> None:
        self._cancelled = True


_NONE = Timer(0.0, print, (), Context())
"""The handle of what cannot be called off."""


class VirtualLoop(asyncio.BaseEventLoop):
    """Timers of one instant fire in the order in which they were set."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self._queue: deque[Ready] = deque()
        self._timers: list[tuple[float, int, Any, tuple[Any, ...] | None]] = []
        """When, in which order, and what: a timer, or something to call with arguments."""
        self._stopping: bool
        self._timers_set = 0
        self.unhandled: list[str] = []
        """What nobody caught."""
        self.set_task_factory(_make_task)
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self.now_s

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> Handle:
        """Futures and tasks say in which context, and never call it off: nearly all come from them, and need no handle of their own."""
        if context is not None:
            self._queue.append((None, callback, args, context, context.get(OWNER)))
            return _NONE
        timer = Timer(self.now_s, callback, args, None)
        self._queue.append((timer, callback, args, timer.context, timer.owner))
        return timer

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        timer = Timer(when, callback, args, context)
        self._timers_set += 1
        heappush(self._timers, (when, self._timers_set, timer, None))
        return timer

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        when = self.now_s + delay
        timer = Timer(when, callback, args, context)
        self._timers_set += 1
        heappush(self._timers, (when, self._timers_set, timer, None))
        return timer

    def pass_on(self, delay: float, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Call something that belongs to nobody, such as a packet that arrives, without what a handle would cost."""
        self._timers_set += 1
        heappush(self._timers, (self.now_s + delay, self._timers_set, callback, args))

    def thaw(self, owner: Owner) -> None:
        """Let a process go on: what waited for it comes first to last."""
        owner.paused = False
        self._queue.extend(owner.frozen)
        owner.frozen.clear()

    def _run_once(self) -> None:
        """Rounds, called by `run_forever`, until it is to stop: each has whatever is ready by then. There are millions."""
        queue, timers = self._queue, self._timers
        while not self._stopping:
            if not queue:
                if not timers:
                    raise Standstill
                self.now_s = max(self.now_s, timers[0][0])
            now_s = self.now_s
            while timers and timers[0][0] <= now_s:
                _, _, due, args = heappop(timers)
                if args is None:
                    queue.append((due, due.call, due._args, due.context, due.owner))
                else:
                    due(*args)
            for _ in range(len(queue)):
                ready = queue.popleft()
                handle, call, args, context, owner = ready
                if handle is not None and handle._cancelled:
                    continue
                if owner is not None and owner.paused:
                    owner.frozen.append(ready)
                    continue
                try:
                    context.run(call, *args)
                except Exception as error:  # reason: a call that breaks is a finding, and does not end the others.
                    self.call_exception_handler({"message": f"{call!r} broke", "exception": error})

    def _write_to_self(self) -> None:
        """There is no other thread that would have to be heard."""

    def _note(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.unhandled.append(f"{context.get('message')}: {error!r}")


def _make_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    *,
    context: Context | None = None,
) -> asyncio.Task[Any]:
    """Tasks are remembered by their process, which ends them all when it crashes."""
    task = asyncio.Task(coroutine, loop=loop, context=context)
    owner = OWNER.get() if context is None else context.get(OWNER)
    if owner is not None:
        if len(owner.tasks) >= _TASKS_KEPT:
            owner.tasks[:] = [one for one in owner.tasks if not one.done()]
        owner.tasks.append(task)
    return task
