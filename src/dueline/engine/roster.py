"""Who else is there: watches every process's beat and declares the silent ones dead."""

from __future__ import annotations

from collections.abc import Callable

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.leases import Silence
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.store.fleet import MemberStore, Role

log = get_log(__name__)


class Roster:
    """Burying takes both: a lease that expired by the store's clock, and a whole lease of silence before our own eyes."""

    def __init__(
        self, store: MemberStore, clock: Clock, *, changed: Callable[[], None], lease_s: float = limits.LEASE_S
    ) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed
        self._silence = Silence(lease_s=lease_s)
        self.registered: frozenset[BootId] = frozenset()
        self.schedulers: frozenset[BootId] = frozenset()
        self._first: BootId | None = None

    def is_first(self, boot_id: BootId) -> bool:
        """Whether it does for all what one can do for all. Everybody who sees the same processes agrees on who that is."""
        return boot_id == self._first

    async def step(self) -> float:
        nodes = await self._store.pulses()
        # Stamped when the answer is here: a slow one must not count as silence.
        now_s = self._clock.monotonic_s()
        self._silence.observe({node.boot_id: node.beat for node in nodes}, now_s=now_s)
        buried = set()
        for node in nodes:
            silent = node.expired and self._silence.is_silent(node.boot_id, now_s=now_s)
            if silent and await self._store.bury(node.boot_id):
                log.warning("process declared dead", boot_id=node.boot_id, role=node.role, host=node.host, pid=node.pid)
                buried.add(node.boot_id)
        living = [node for node in nodes if node.boot_id not in buried]
        registered = frozenset(node.boot_id for node in living)
        schedulers = frozenset(node.boot_id for node in living if node.role is not Role.WORKER and not node.draining)
        if (registered, schedulers) != (self.registered, self.schedulers):
            self.registered, self.schedulers = registered, schedulers
            self._first = min(schedulers, default=None)
            self._changed()
        return limits.ROSTER_S
