"""What jobs call: a target that logs every hit and answers by chance, and the executor that calls it on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from dueline.domain.ids import RunId
from dueline.engine.execution.exchange import HttpCall, HttpFailure, HttpReply
from tests.simulation.link import Link
from tests.simulation.loop import VirtualLoop
from tests.simulation.trace import Fact, Fault, Trace

HOSTS = ("steady", "flaky", "slow", "broken")
_CONNECT_CHANCE, _CONNECT_S_MAX = 0.05, 9.0
"""Some calls wait for a connection, and a few until the lease of their worker may be over."""
_FAILS = {"steady": 0.01, "flaky": 0.3, "slow": 0.1, "broken": 0.9}


class Hit(msgspec.Struct):
    """One call as the target saw it."""

    run_id: RunId
    attempt: int
    token: int
    process: str
    host: str
    at_s: float
    believed_ms: int
    """What whoever called may have taken the store's clock for, at most."""
    succeeded: bool
    until_s: float
    """When whoever called had its end, or died."""


class Answer(msgspec.Struct, frozen=True):
    takes_s: float
    status: int | None = 200
    failure: HttpFailure | None = None
    retry_after_s: int | None = None


class SimTarget:
    def __init__(self, loop: VirtualLoop, trace: Trace, random: Random) -> None:
        self._loop = loop
        self._trace = trace
        self._random = random
        self.healed = False
        self.hits: list[Hit] = []

    def call(self, process: Process, call: HttpCall) -> tuple[Hit, Answer]:
        told = dict(line.split(": ", 1) for line in call.run_headers.split("\r\n"))
        host = urlsplit(call.url).hostname or ""
        answer = self._answer(host, call.timeout_ms / 1000)
        now_s = self._loop.time()
        hit = Hit(
            run_id=call.key,
            attempt=int(told["Dueline-Attempt"]),
            token=int(told["Dueline-Token"]),
            process=process.name,
            host=host,
            at_s=now_s,
            believed_ms=process.link.belief.latest_ms(),
            succeeded=answer.status == 200,
            until_s=float("inf"),
        )
        self.hits.append(hit)
        what = f"hit {call.key.hex()} {hit.attempt} {hit.token} {answer.status or answer.failure} {answer.takes_s:.6f}"
        self._trace.add(now_s, process.name, what)
        return hit, answer

    def _answer(self, host: str, timeout_s: float) -> Answer:
        draw, takes_s = self._random.random(), 0.002 + self._random.random() ** 4 * 1.5
        if self.healed:
            return Answer(min(takes_s, timeout_s / 2))
        if host == "slow":
            takes_s *= 15
        if draw >= _FAILS[host]:
            return Answer(takes_s) if takes_s < timeout_s else Answer(timeout_s, None, HttpFailure.TIMEOUT)
        self._trace.faults[Fault.TARGET] += 1
        match self._random.randrange(6):
            case 0:
                return Answer(timeout_s, None, HttpFailure.TIMEOUT)
            case 1:
                return Answer(takes_s, None, HttpFailure.PROTOCOL)
            case 2:
                return Answer(takes_s, 429, None, self._random.randint(1, 6))
            case 3:
                return Answer(takes_s, 404)
            case _:
                return Answer(takes_s, 500)


class Process(Protocol):
    """Whoever calls."""

    name: str
    dead: bool
    link: Link


class SimExecutor:
    """As `HttpExecutor`: every call that is submitted gets exactly one reply."""

    def __init__(
        self,
        *,
        deliver: Callable[[list[HttpReply]], None],
        monotonic: Callable[[], float],
        may_send: Callable[[], bool],
        process: Process,
        target: SimTarget,
        trace: Trace,
        random: Random,
    ) -> None:
        self._deliver = deliver
        self._monotonic = monotonic
        self._may_send = may_send
        self._process = process
        self._target = target
        self._trace = trace
        self._random = random
        self._under_way: dict[RunId, tuple[Hit | None, float, asyncio.TimerHandle]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, calls: Sequence[HttpCall]) -> None:
        assert self._loop is not None, "it was not opened"
        for call in calls:
            wait_s = self._random.uniform(0.01, _CONNECT_S_MAX) if self._random.random() < _CONNECT_CHANCE else 0.0
            timer = self._loop.call_later(wait_s, self._send, call)
            self._under_way[call.key] = (None, self._monotonic(), timer)

    def _send(self, call: HttpCall) -> None:
        """It has a connection by now."""
        assert self._loop is not None, "it was not opened"
        if self._process.dead or call.key not in self._under_way:
            return
        if not self._may_send():
            self._trace.facts[Fact.WITHHELD] += 1
            self._ended(call.key, Answer(0.0, None, HttpFailure.WITHHELD))
            return
        hit, answer = self._target.call(self._process, call)
        timer = self._loop.call_later(answer.takes_s, self._ended, call.key, answer)
        self._under_way[call.key] = (hit, self._monotonic(), timer)

    def cancel(self, keys: Iterable[RunId]) -> None:
        assert self._loop is not None, "it was not opened"
        for key in keys:
            if key in self._under_way:
                _, _, timer = self._under_way[key]
                timer.cancel()
                self._loop.call_soon(self._ended, key, Answer(0.0, None, HttpFailure.CANCELLED))

    def close(self) -> None:
        for key in list(self._under_way):
            self._ended(key, Answer(0.0, None, HttpFailure.CLOSED))

    def _ended(self, key: RunId, answer: Answer) -> None:
        if key not in self._under_way:
            return
        assert self._loop is not None, "it was not opened"
        hit, started_s, timer = self._under_way.pop(key)
        timer.cancel()
        if hit is not None:
            hit.until_s = self._loop.time()
        reply = _reply(
            key,
            started_s,
            self._monotonic(),
            status=answer.status,
            failure=answer.failure,
            retry_after=None if answer.retry_after_s is None else str(answer.retry_after_s),
        )
        self._deliver([reply])


def _reply(
    key: RunId,
    started_s: float,
    finished_s: float,
    *,
    status: int | None = None,
    failure: HttpFailure | None = None,
    retry_after: str | None = None,
) -> HttpReply:
    return HttpReply(
        key, status, failure, "simulated" if failure else "", retry_after, b"", False, started_s, finished_s
    )
