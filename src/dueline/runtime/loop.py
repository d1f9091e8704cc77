"""The one loop that runs everything: do a step, sleep as long as it says, again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dueline.domain.errors import LeaseLost, StoreMoved, StoreUnavailable
from dueline.runtime.log import get_log
from dueline.runtime.wakeup import Wakeup

log = get_log(__name__)

AWAY_S = 0.5
"""The pause after the store was away: short, because many things wait for it."""
BROKEN_S = 1.0
"""The pause after a step broke: a bug must not become a busy loop."""


class Loop:
    """Runs a step until stopped. It survives a store that is away and a step that breaks; only a lost lease ends it, or a
    store that was moved elsewhere."""

    def __init__(self, name: str, step: Callable[[], Awaitable[float]], wakeup: Wakeup | None = None) -> None:
        self._name = name
        self._step = step
        self.wakeup = wakeup or Wakeup()
        self._stopping = False
        self._away = False
        self._eager = False
        self.ended = asyncio.Event()

    async def run(self) -> None:
        try:
            while not self._stopping:
                await self.wakeup.sleep(await self.step())
        finally:
            self.ended.set()

    def stop(self) -> None:
        """End after the current step."""
        self._stopping = True
        self.wakeup.wake()

    def take_wish(self) -> bool:
        """Whether it wants a step at once: it was woken, or its last step asked for the next without a pause."""
        return self.wakeup.take() or self._eager

    async def step(self) -> float:
        """One step, as `run` does it; answers how long to sleep."""
        self._eager = False
        try:
            delay_s = await self._step()
        except (LeaseLost, StoreMoved):
            raise
        except StoreUnavailable as error:
            if not self._away:
                log.warning("store away", loop=self._name, reason=str(error))
            self._away = True
            return AWAY_S
        except Exception:
            log.exception("step broke", loop=self._name)
            return BROKEN_S
        if self._away:
            log.info("store back", loop=self._name)
            self._away = False
        self._eager = delay_s <= 0
        return delay_s
