"""A process's line to the store. Calls travel, take effect at the store whatever has become of the caller by then, and their answers travel
back; each of that can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, Protocol, cast

import msgspec

from dueline.domain.errors import DuelineError, StoreUnavailable
from dueline.store.protocol import Store, WakeUp
from dueline.store.shapes import Claimed
from tests.simulation.clocks import Belief, StoreClock
from tests.simulation.loop import VirtualLoop
from tests.simulation.owners import Owners
from tests.simulation.trace import Fact, Fault, Trace

TIMEOUT_S = 5.0
"""How long a caller waits for an answer."""
_QUICK_S, _SPREAD_S = 0.0002, 0.002
"""What a call takes on its way, each way."""
_AT_ONCE_S = 0.0015
"""A call that would be there sooner is there at once: most are, and that saves a timer each. So is an answer by which nobody gets or gives
anything: most questions are of that kind, and nothing becomes of them."""
_AWAY_S = 0.5
"""How long whoever was told that the store is away lets it be."""
_MATTERS: dict[str, Callable[[Any], object]] = {
    "claim": lambda answer: answer.claims,
    "confirm": lambda answer: answer.tokens,
    "enter": bool,
    "fire": bool,
    "finish": bool,
    "take_shards": bool,
    "register": lambda _: True,
    "beat": lambda _: False,
}
"""Calls by which somebody gets or gives something, and whether an answer says so: these answers always travel, may be late by seconds, and
much can happen until they are there. A beat gives a lease, which whoever asks for it counts from then."""
_LATE_S_MAX = 4.5
_STRIKES = (Fault.FAIL_BEFORE, Fault.LOST_REPLY, Fault.DELAY, Fault.STALL, Fault.CRASH_BEFORE, Fault.CRASH_AFTER)
_WEIGHTS = (36, 36, 12, 8, 4, 4)
_CLIENTS_TIMES = 5
"""So many times as often a call of a client goes wrong: it makes few of them, and each matters."""
_MANY = (list, set, dict, frozenset)
_ONLY_MORTALS = (Fault.STALL, Fault.CRASH_BEFORE, Fault.CRASH_AFTER)

Method = Callable[..., Coroutine[Any, Any, Any]]


class Caller(Protocol):
    """Whose line it is."""

    name: str
    dead: bool
    mortal: bool
    """Whether it may crash at a call, or be paused there."""

    def crash(self) -> None: ...

    def stall(self, last_s: float) -> None:
        """Be paused for a while."""


class Wish(Protocol):
    """What a client wants while it calls, and so what its calls belong to."""

    def took_effect(self, name: str, answer: Any, args: tuple[Any, ...]) -> None: ...


class Trouble(msgspec.Struct, frozen=True):
    """What may explain that something was lost or late. Without a process it is of all."""

    process: str
    from_s: float
    to_s: float


class Network:
    """What all lines have in common."""

    def __init__(self, loop: VirtualLoop, store: Store, clock: StoreClock, trace: Trace, owners: Owners) -> None:
        self.loop = loop
        self.store = store
        self.clock = clock
        self.trace = trace
        self.owners = owners
        self.strike_chance = 0.0
        """Of every call to go wrong."""
        self.late_chance = 0.0
        """Of every answer that matters to be late."""
        self.slow_until_s = 0.0
        self.troubles: list[Trouble] = []

    def trouble(self, process: str, last_s: float = 0.0) -> None:
        """Note that something happens to a process, or to all, for a while."""
        self.troubles.append(Trouble(process, self.loop.time(), self.loop.time() + last_s))


class Link:
    def __init__(self, network: Network, caller: Caller, random: Random) -> None:
        self._network = network
        self._caller = caller
        self._random = random
        self._chance = random.random
        self.cut_until_s = 0.0
        """No call reaches the store until then, and no answer comes back."""
        self.wish: Wish | None = None
        self.wakes: list[WakeUp] = []
        self.belief = Belief(network.clock)
        self._far_end = FarEnd(self)

    def as_store(self) -> Store:
        return cast(Store, self._far_end)

    def method(self, name: str) -> Callable[..., asyncio.Future[Any]]:
        """A method of the store, as it is called from here."""
        method: Method = getattr(self._network.store, name)

        def call(*args: Any, **kwargs: Any) -> asyncio.Future[Any]:
            return self._ask(name, method, args, kwargs)

        return call

    def _ask(self, name: str, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]) -> asyncio.Future[Any]:
        network, loop = self._network, self._network.loop
        if self._caller.dead:
            raise asyncio.CancelledError
        reply: asyncio.Future[Any] = asyncio.Future(loop=loop)
        now_s = loop.now_s
        there_s = _QUICK_S + self._chance() * _SPREAD_S
        fault = self._strike() if network.strike_chance else None
        if fault is None and there_s < _AT_ONCE_S and now_s >= self.cut_until_s and now_s >= network.slow_until_s:
            answer, error = self._carry_out(name, method, args, kwargs, self.wish)
            back_s = _QUICK_S + self._chance() * _SPREAD_S
            if back_s >= _AT_ONCE_S or name in _MATTERS:
                self._send_back(Asked(name, method, args, kwargs, reply, None, self.wish, now_s), answer, error, back_s)
            elif error is None:
                reply.set_result(answer)
            else:
                reply.set_exception(error)
            return reply
        if now_s < self.cut_until_s or fault is Fault.FAIL_BEFORE:
            self._trace(name, "cut off" if fault is None else fault)
            loop.pass_on(TIMEOUT_S if fault is None else there_s, _fail, reply, name)
            return reply
        if fault is Fault.CRASH_BEFORE:
            self._trace(name, fault)
            loop.pass_on(0.0, self._caller.crash)
            return reply
        if fault is Fault.DELAY:
            there_s += self._random.uniform(0.3, 12.0)
        if now_s < network.slow_until_s:
            there_s += self._random.uniform(0.05, 1.5)
        if there_s > TIMEOUT_S:
            loop.pass_on(TIMEOUT_S, _fail, reply, name)
        loop.pass_on(there_s, self._take_effect, Asked(name, method, args, kwargs, reply, fault, self.wish, now_s))
        return reply

    def _strike(self) -> Fault | None:
        if self._chance() >= self._network.strike_chance * (1 if self._caller.mortal else _CLIENTS_TIMES):
            return None
        fault = self._random.choices(_STRIKES, _WEIGHTS)[0]
        if not self._caller.mortal and fault in _ONLY_MORTALS:
            fault = Fault.LOST_REPLY
        self._network.trace.faults[fault] += 1
        self._network.trouble(self._caller.name, TIMEOUT_S if fault is Fault.DELAY else _AWAY_S)
        return fault

    def _take_effect(self, asked: Asked) -> None:
        network = self._network
        if self._caller.dead:
            if self._chance() < 0.5:
                return
            network.trace.facts[Fact.EFFECT_AFTER_DEATH] += 1
        elif asked.reply.done():
            network.trace.facts[Fact.LATE_EFFECT] += 1
        answer, error = self._carry_out(asked.name, asked.method, asked.args, asked.kwargs, asked.wish)
        if asked.fault is Fault.CRASH_AFTER:
            self._trace(asked.name, asked.fault)
            self._caller.crash()
            return
        if asked.fault is Fault.STALL:
            self._caller.stall(self._random.choice([2.0, 7.0, 9.0, 12.0, 20.0, 30.0]))
        back_s = _QUICK_S + self._chance() * _SPREAD_S
        if network.loop.now_s < network.slow_until_s:
            back_s += self._random.uniform(0.05, 1.5)
        if back_s < _AT_ONCE_S and asked.name not in _MATTERS:
            self._arrive(asked, answer, error)
        else:
            self._send_back(asked, answer, error, back_s)

    def _carry_out(
        self, name: str, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any], wish: Wish | None
    ) -> tuple[Any, DuelineError | None]:
        """The effect of a call, seen by all who watch."""
        network = self._network
        answer, error = _ended(method(*args, **kwargs))
        network.trace.add(network.loop.now_s, self._caller.name, name, _told(answer, error))
        if error is not None:
            network.owners.refused(error)
            return None, error
        network.owners.saw(name, args, kwargs, answer)
        if wish is not None:
            wish.took_effect(name, answer, args)
        return answer, None

    def _send_back(self, asked: Asked, answer: Any, error: DuelineError | None, back_s: float) -> None:
        network, loop = self._network, self._network.loop
        now_s = loop.now_s
        matters = _MATTERS.get(asked.name) if network.late_chance and error is None else None
        if matters is not None and matters(answer) and self._chance() < network.late_chance:
            back_s += self._random.uniform(0.2, _LATE_S_MAX)
            network.trace.faults[Fault.LATE_ANSWER] += 1
            network.trouble(self._caller.name, back_s)
        waits_s = asked.at_s + TIMEOUT_S - now_s
        if back_s > waits_s > 0:
            loop.pass_on(waits_s, _fail, asked.reply, asked.name)
        asked.effect_s, asked.steps = now_s, len(network.clock.steps)
        loop.pass_on(back_s, self._arrive, asked, answer, error)

    def _arrive(self, asked: Asked, answer: Any, error: DuelineError | None) -> None:
        loop, name, reply = self._network.loop, asked.name, asked.reply
        if reply.done():
            return
        if asked.fault is Fault.LOST_REPLY:
            self._trace(name, asked.fault)
            _fail(reply, name)
        elif loop.time() < self.cut_until_s:
            self._trace(name, "answer cut off")
            loop.pass_on(max(asked.at_s + TIMEOUT_S - loop.time(), 0.0), _fail, reply, name)
        elif error is not None:
            reply.set_exception(error)
        else:
            if name == "beat":
                self.belief.beat_answered(there_s=asked.effect_s - asked.at_s, steps=asked.steps)
            elif name == "claim" and _came_due(answer, self._network.clock.wall_ms()):
                self._network.trace.facts[Fact.CAME_DUE] += 1
            reply.set_result(answer)

    def _trace(self, name: str, became: str | int) -> None:
        self._network.trace.add(self._network.loop.time(), self._caller.name, name, became)


class FarEnd:
    """What the store looks like from this end of a line. Its methods are made when they are first asked for; the line itself has none of
    that, because whatever has a `__getattr__` finds its own attributes slowly."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def listen(self, wake: WakeUp) -> None:
        self._link.wakes.append(wake)

    def __getattr__(self, name: str) -> Any:
        call = self._link.method(name)
        setattr(self, name, call)
        return call


class Asked:
    """One call, from the question to its answer."""

    __slots__ = ("args", "at_s", "effect_s", "fault", "kwargs", "method", "name", "reply", "steps", "wish")

    def __init__(
        self,
        name: str,
        method: Method,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        reply: asyncio.Future[Any],
        fault: Fault | None,
        wish: Wish | None,
        at_s: float,
    ) -> None:
        self.name = name
        self.method = method
        self.args = args
        self.kwargs = kwargs
        self.reply = reply
        self.fault = fault
        self.wish = wish
        self.at_s = at_s
        self.effect_s = at_s
        self.steps = 0
        """How often the store's clock had been set when it took effect."""


def _ended(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, DuelineError | None]:
    """The store is inline: a call of it ends before it waits for anything."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value, None
    except DuelineError as error:
        return None, error
    raise AssertionError("a call of an inline store waits")


def _fail(reply: asyncio.Future[Any], name: str) -> None:
    if not reply.done():
        reply.set_exception(StoreUnavailable(f"{name}: no answer"))


def _told(answer: Any, error: DuelineError | None) -> str | int:
    if error is not None:
        return type(error).__name__
    if isinstance(answer, _MANY):
        return len(answer)
    return "" if answer is None else answer.__class__.__name__


def _came_due(claimed: Claimed, now_ms: int) -> bool:
    return any(claim.claimed_ms < claim.due_ms <= now_ms for claim in claimed.claims)
