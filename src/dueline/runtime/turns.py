"""Long work on the event loop that lets others have their turns."""

from __future__ import annotations

import asyncio

from dueline.domain import limits


class Turns:
    """Call `give` between the pieces of the work: when it has had the loop for long enough, whoever waits comes first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + limits.TURN_S

    async def give(self) -> None:
        if self._loop.time() >= self._until:
            await asyncio.sleep(0)
            self._until = self._loop.time() + limits.TURN_S
