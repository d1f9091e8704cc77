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
    frozen: list[Ready | Timer]
    """What became ready while it was paused, in order."""
    tasks: list[asyncio.Task[Any]]


OWNER: ContextVar[Owner | None] = ContextVar("owner", default=None)
Call = Callable[..., object]
Ts = TypeVarTuple("Ts")
_TASKS_KEPT = 64


class Standstill(Exception):
    """Nothing is ready, and no timer will ever make anything so."""


class Ready(Handle):
    """Something to call, with its owner, and without all that asyncio keeps in case somebody wants to look at it: there are millions."""

    __slots__ = ("call", "context", "owner")

    def __init__(self, call: Call, args: tuple[Any, ...], context: Context | None) -> None:
        self.call = call
        self._args = args
        self._cancelled = False
        self.context = copy_context() if context is None else context
        self.owner = self.context.get(OWNER)

    def cancel(self) -> None:
        self._cancelled = True


class Timer(TimerHandle):
    """The same for later."""

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


class VirtualLoop(asyncio.BaseEventLoop):
    """Timers of one instant fire in the order in which they were set."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self._queue: deque[Ready | Timer] = deque()
        self._timers: list[tuple[float, int, Timer | Call, tuple[Any, ...]]] = []
        self._timers_set = 0
        self.unhandled: list[str] = []
        """What nobody caught."""
        self.set_task_factory(_make_task)
        self.set_exception_handler(self._note)

    def time(self) -> float:
        return self._now_s

    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> Handle:
        handle = Ready(callback, args, context)
        self._queue.append(handle)
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        timer = Timer(when, callback, args, context)
        self._timers_set += 1
        heappush(self._timers, (when, self._timers_set, timer, ()))
        return timer

    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> TimerHandle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def pass_on(self, delay: float, callback: Callable[[*Ts], object], *args: *Ts) -> None:
        """Call something that belongs to nobody, such as a packet that arrives, without what a handle would cost."""
        self._timers_set += 1
        heappush(self._timers, (self._now_s + delay, self._timers_set, callback, args))

    def thaw(self, owner: Owner) -> None:
        """Let a process go on: what waited for it comes first to last."""
        owner.paused = False
        self._queue.extend(owner.frozen)
        owner.frozen.clear()

    def _run_once(self) -> None:
        """One round, called by `run_forever`: whatever is ready by now."""
        queue, timers = self._queue, self._timers
        if not queue:
            if not timers:
                raise Standstill
            self._now_s = max(self._now_s, timers[0][0])
        while timers and timers[0][0] <= self._now_s:
            _, _, due, args = heappop(timers)
            if isinstance(due, Timer):
                queue.append(due)
            else:
                due(*args)
        for _ in range(len(queue)):
            handle = queue.popleft()
            if handle._cancelled:
                continue
            owner = handle.owner
            if owner is not None and owner.paused:
                owner.frozen.append(handle)
                continue
            try:
                handle.context.run(handle.call, *handle._args)
            except Exception as error:  # reason: a call that breaks is a finding, and does not end the others.
                self.call_exception_handler({"message": f"{handle.call!r} broke", "exception": error})

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
