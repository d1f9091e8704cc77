"""What a store does so that its tables stay as quick to read as what is in them."""

from __future__ import annotations

from typing import Protocol


class UpkeepStore(Protocol):
    """Tables have names of the store's own here: whoever asks passes on what it was answered."""

    async def littered(self, *, least: int) -> list[str]:
        """Tables in which rows that were changed or deleted left so much behind that it is time to clear it away. A store that leaves
        nothing behind names none."""

    async def clear(self, table: str) -> None:
        """Clear it away, beside all that others do meanwhile. What somebody can still see stays."""
