"""This process among the others: its boot id, its lease, the store's time, and the heartbeat that keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from dueline.domain import limits
from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.domain.leases import LeaseTrust
from dueline.runtime.clock import Clock, StoreTime
from dueline.store.fleet import Beat, NewNode


class Beats(Protocol):
    """What keeps a process among the living; see `MemberStore`."""

    async def register(self, node: NewNode, *, lease_s: float) -> None: ...

    async def beat(self, boot_id: BootId, *, lease_s: float, busy: int, rates: Mapping[str, float]) -> Beat: ...

    async def drain(self, boot_id: BootId) -> None: ...

    async def leave(self, boot_id: BootId) -> None: ...


class Membership:
    """Holds as long as the heartbeat succeeds. Whoever acts in this process's name asks `trusted` first."""

    def __init__(self, store: Beats, clock: Clock, node: NewNode, *, lease_s: float = limits.LEASE_S) -> None:
        self._store = store
        self._clock = clock
        self._node = node
        self._lease_s = lease_s
        self._trust = LeaseTrust(lease_s=lease_s)
        self.time = StoreTime(clock)
        self.busy: Callable[[], int] = lambda: 0
        """How many runs this process executes; whoever executes them says so."""
        self.rates: Callable[[], Mapping[str, float]] = dict
        """How many runs per second it took lately from each queue."""
        self.drain_asked = asyncio.Event()

    @property
    def boot_id(self) -> BootId:
        return self._node.boot_id

    @property
    def trusted(self) -> bool:
        return self._trust.holds(self._clock.monotonic_s())

    async def join(self) -> None:
        await self._store.register(self._node, lease_s=self._lease_s)
        await self.step()

    async def step(self) -> float:
        """One heartbeat. Raises LeaseLost when others declared this process dead."""
        sent_s = self._clock.monotonic_s()
        try:
            beat = await self._store.beat(self.boot_id, lease_s=self._lease_s, busy=self.busy(), rates=self.rates())
        except LeaseLost:
            self._trust.revoke()
            raise
        self._trust.renewed(sent_s=sent_s)
        self.time.measured(beat.now_ms, sent_s=sent_s)
        if beat.drain_asked:
            self.drain_asked.set()
        return limits.BEAT_S

    async def drain(self) -> None:
        """Tell the others that this process gets no more work."""
        await self._store.drain(self.boot_id)

    async def leave(self) -> None:
        """End in order: from now on others may take what was ours."""
        self._trust.revoke()
        await self._store.leave(self.boot_id)
