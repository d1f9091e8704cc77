"""Gates: how many runs may be under way at once, and how many may start in a time. A run passes all of its gates when it starts, or none.

A place at a gate is a row that stands for a run under way, never a count that could be wrong. A rate is a bucket of tokens, kept as one
instant (the generic cell rate algorithm): when the bucket would be full again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import NewType

import msgspec

from dueline.domain import limits
from dueline.domain.ids import RunId
from dueline.domain.states import HeldReason

GateId = NewType("GateId", bytes)

_US = 1_000


class Scope(StrEnum):
    """What a gate is of."""

    JOB = "job"
    KEY = "key"
    QUEUE = "queue"
    TENANT = "tenant"
    HOST = "host"
    ASKING = "asking"
    """What a tenant's people and programs ask for. No run passes it: they take its tokens before there is one."""


class Rate(msgspec.Struct, frozen=True, omit_defaults=True):
    """So many starts in every period, and up to `burst` of them at once: a token every `period_ms / count`, and room for `burst`."""

    count: int
    period_ms: int
    burst: int = 1

    @property
    def interval_us(self) -> int:
        """Rounded up: never more than were asked for."""
        return -(-self.period_ms * _US // self.count)


class Gate(msgspec.Struct, frozen=True):
    """What one gate lets through. `name` is whose it is among those of its scope, and `as_of` the version that says so: of two, the later
    counts."""

    scope: Scope
    name: str
    tenant: str = ""
    """Whose it is, where tenants may have the same name for different things."""
    most: int | None = None
    rate: Rate | None = None
    as_of: int = 0

    @property
    def id(self) -> GateId:
        """Those who share a key for how many are under way need not share it for how many start."""
        of = "starts" if self.scope is Scope.KEY and self.rate is not None else ""
        return _gate_id(self.scope, of, self.tenant, self.name)


@lru_cache(maxsize=10_000)
def _gate_id(*names: str) -> GateId:
    return GateId(blake2b("\x1f".join(names).encode(), digest_size=16).digest())


def latest(gates: Iterable[Gate]) -> dict[GateId, Gate]:
    """Of several words on the same gate the latest; of two of the same time, the last."""
    return {gate.id: gate for gate in sorted(gates, key=attrgetter("as_of"))}


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody set for a queue, a host or a tenant."""

    scope: Scope
    name: str
    most: int | None = None
    rate: Rate | None = None
    updated_ms: int = 0

    @property
    def gate(self) -> Gate:
        return Gate(self.scope, self.name, most=self.most, rate=self.rate, as_of=self.updated_ms)


class Seen(msgspec.Struct):
    """A gate as it stands, while nobody else passes it: how many have a place, and when its bucket would be full."""

    scope: Scope
    most: int | None
    interval_us: int | None
    burst: int
    full_us: int
    taken: int
    as_of: int = 0

    def hear(self, gate: Gate) -> None:
        """Take the word of whoever comes, unless there is a later one: jobs that share a key may think differently of what it allows, and
        none passes by the word of another."""
        if gate.as_of >= self.as_of:
            self.most = gate.most
            self.interval_us, self.burst = (None, 1) if gate.rate is None else (gate.rate.interval_us, gate.rate.burst)

    def has_place(self) -> bool:
        return self.most is None or self.taken < self.most

    def start_us(self, now_us: int) -> int:
        """When the next one could start."""
        if self.interval_us is None:
            return now_us
        return max(now_us, max(self.full_us, now_us) - (self.burst - 1) * self.interval_us)

    def take(self, now_us: int) -> None:
        self.taken += 1
        self.draw(1, now_us)

    def draw(self, count: int, now_us: int) -> None:
        """Take tokens from the bucket."""
        if self.interval_us is not None:
            self.full_us = max(self.full_us, now_us) + count * self.interval_us

    def wait_us(self, count: int, now_us: int) -> int:
        """How long until so many tokens could be taken at once; 0: now. More than the bucket holds never can."""
        if self.interval_us is None:
            return 0
        return max(max(self.full_us, now_us) + (count - self.burst) * self.interval_us - now_us, 0)

    def spent(self, now_us: int) -> int:
        """How many tokens the bucket lacks."""
        return 0 if self.interval_us is None else -(-max(self.full_us - now_us, 0) // self.interval_us)

    def room(self, *, now_us: int, until_us: int) -> int | None:
        """How many could start until then; None: any number."""
        rooms = []
        if self.most is not None:
            rooms.append(max(self.most - self.taken, 0))
        if self.interval_us is not None:
            full_us = max(self.full_us, now_us)
            rooms.append(max((until_us - full_us) // self.interval_us + self.burst, 0))
        return min(rooms, default=None)


def unseen(gate: Gate) -> Seen:
    """A gate that nobody has passed."""
    seen = Seen(gate.scope, None, None, 1, full_us=0, taken=0)
    seen.hear(gate)
    return seen


def next_refill_ms(gate: Seen, *, now_ms: int, ahead_ms: int, passed: int = 0) -> int | None:
    """When to look again at those who wait for a token, once `passed` of them were let in; None where it is a place that they lack.
    Whoever gets one is let in up to `ahead_ms` before, and many together."""
    if gate.interval_us is None or not gate.has_place():
        return None
    token_us = max(gate.full_us, now_ms * _US) + (passed - gate.burst + 1) * gate.interval_us
    soonest_ms = now_ms + ahead_ms // 2 if passed else now_ms
    return max(token_us // _US - ahead_ms, soonest_ms)


class Refill(msgspec.Struct, frozen=True):
    """How many of those who wait at a gate may go on, and when to look again at the others."""

    gate: GateId
    room: int
    next_ms: int | None


def refills(seen: Mapping[GateId, Seen], *, now_ms: int, ahead_ms: int) -> list[Refill]:
    found = []
    for gate_id, gate in seen.items():
        room = gate.room(now_us=now_ms * _US, until_us=(now_ms + ahead_ms) * _US)
        room = limits.GATE_FREED_MAX if room is None else room
        found.append(Refill(gate_id, room, next_refill_ms(gate, now_ms=now_ms, ahead_ms=ahead_ms, passed=room)))
    return found


class Wish(msgspec.Struct, frozen=True):
    """A claimed run that is to start, and the gates that it passes."""

    run_id: RunId
    token: int
    gates: tuple[Gate, ...]


class Refusal(msgspec.Struct, frozen=True):
    """Why a run may not start: the first gate that has no place, or no token soon enough."""

    gate: GateId
    reason: HeldReason
    stays_ready: bool
    """Whether it need not be told apart from the others: nothing of its queue may start."""
    for_token: bool
    """Whether it lacks a token, which comes by itself."""


def admit(
    wishes: Sequence[Wish], seen: Mapping[GateId, Seen], *, now_us: int, until_us: int
) -> tuple[dict[RunId, int], dict[RunId, Refusal]]:
    """Who may start, each with the instant in ms from which on, and who may not. Whoever comes first is asked first; `seen` is changed as
    they pass. A run that will have its token until `until_us` may wait for it in its worker's hands."""
    starts: dict[RunId, int] = {}
    refused: dict[RunId, Refusal] = {}
    for wish in wishes:
        gates = []
        for gate in wish.gates:
            seen[gate.id].hear(gate)
            gates.append((gate.id, seen[gate.id]))
        refusal = _refusal(gates, now_us=now_us, until_us=until_us)
        if refusal is not None:
            refused[wish.run_id] = refusal
            continue
        start_us = max(passed.start_us(now_us) for _, passed in gates)
        for _, passed in gates:
            # Where another gate makes it wait its token is taken then: the next one here must not start right after it.
            passed.take(start_us)
        starts[wish.run_id] = -(-start_us // _US)
    return starts, refused


class Charge(msgspec.Struct, frozen=True):
    """What passing took from a bucket, and when those who wait for it should be looked at."""

    gate: GateId
    full_us: int
    refill_ms: int | None
    awaited: bool
    """Whether somebody waits from now on; if not, those are meant who may wait already."""


def charges(
    wishes: Sequence[Wish],
    seen: Mapping[GateId, Seen],
    refused: Mapping[RunId, Refusal],
    *,
    now_ms: int,
    ahead_ms: int,
) -> list[Charge]:
    """For all gates with a rate. A run that another gate refuses does not use its token here: there may be others who can."""
    awaited = {refusal.gate for refusal in refused.values() if refusal.for_token and not refusal.stays_ready}
    spared = {gate.id for wish in wishes if wish.run_id in refused for gate in wish.gates}
    found = []
    for gate_id, gate in seen.items():
        if gate.interval_us is None:
            continue
        refill_ms = None
        if gate_id in awaited or gate_id in spared:
            refill_ms = next_refill_ms(gate, now_ms=now_ms, ahead_ms=ahead_ms)
        if refill_ms is not None and gate_id not in awaited:
            refill_ms = max(refill_ms, now_ms + ahead_ms // 2)
        found.append(Charge(gate_id, gate.full_us, refill_ms, gate_id in awaited))
    return found


def _refusal(gates: Sequence[tuple[GateId, Seen]], *, now_us: int, until_us: int) -> Refusal | None:
    for gate_id, gate in gates:
        if not gate.has_place():
            return Refusal(
                gate_id, _reason(gate.scope, HeldReason.CONCURRENCY), gate.scope is Scope.QUEUE, for_token=False
            )
    for gate_id, gate in gates:
        if gate.start_us(now_us) > until_us:
            return Refusal(gate_id, _reason(gate.scope, HeldReason.RATE), gate.scope is Scope.QUEUE, for_token=True)
    return None


def _reason(scope: Scope, reason: HeldReason) -> HeldReason:
    return HeldReason.THROTTLED if scope is Scope.TENANT else reason
