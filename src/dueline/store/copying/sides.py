"""The two sides of a copy, as the copier sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from dueline.store.copying.tables import Key, Row, Table


class Standing(NamedTuple):
    """What a copy has left in a store so far."""

    copy_id: str = ""
    other: str = ""
    """The address of the other side; empty where no copy was begun."""
    moved: bool = False
    """The source alone: it was moved, and refuses every write."""


class Changes(NamedTuple):
    """Rows that changed, as they are at one moment. A key without a row was deleted."""

    keys: list[Key]
    rows: list[Row]
    last: int
    """How far the log of changes was read."""
    more: bool
    """Whether the log goes on."""


class Loaded(NamedTuple):
    """How far a table was copied for the first time."""

    after: Key | None = None
    rows: int = 0
    done: bool = False


class Source(Protocol):
    """Where everything comes from. Others write to it until `write_stop`, and what they change is logged from `track` on."""

    address: str
    stops_at_once: bool
    """Nobody writes to it from `track` on: nothing is logged, and a copy that breaks off starts over."""

    async def open(self) -> None:
        """Raises Invalid or Conflict where nothing can be copied from."""

    async def close(self) -> None: ...

    async def standing(self) -> Standing: ...

    async def columns(self, table: Table) -> tuple[str, ...]: ...

    async def count(self, table: Table) -> int: ...

    async def track(self, copy_id: str, target: str) -> None:
        """Begin to log what changes. What an earlier copy logged is forgotten."""

    async def forget(self) -> None:
        """Leave nothing of a copy behind."""

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """Rows in the order of their keys."""

    def snapshot(self) -> AbstractAsyncContextManager[None]:
        """Reads inside see one moment."""

    async def pending(self, table: Table) -> set[Key]:
        """What changed, and was not forgotten."""

    async def changes(self, table: Table, limit: int) -> Changes: ...

    async def forget_changes(self, table: Table, last: int) -> None: ...

    async def hold_starts(self, hold_ms: int) -> None:
        """Let no run start for so long, whatever becomes of the copy."""

    async def running(self) -> int:
        """How many runs are under way."""

    def write_stop(self) -> AbstractAsyncContextManager[None]:
        """Nobody else writes inside. What was done inside is undone if it raises."""

    async def insist_tracked(self) -> None:
        """Raises Conflict if changes may have been missed, because the schema is another or the log was taken away."""

    async def zones(self) -> str:
        """The oldest rules of the time zones by which plans were made."""

    async def seal(self, copy_id: str, target: str) -> None:
        """Within a write stop: refuse every write from its end on, and name the target to whoever tries."""


class Target(Protocol):
    """Where everything goes. Nobody else may use it before `release`."""

    address: str

    async def open(self) -> None:
        """Take it, with a schema that is up to date."""

    async def close(self) -> None: ...

    async def standing(self) -> Standing: ...

    async def insist_empty(self) -> None:
        """Raises Conflict if it holds anything, or if processes work in it."""

    async def begin(self, copy_id: str, source: str) -> None:
        """Empty it, and let it refuse to be served from here on."""

    async def loaded(self) -> Mapping[str, Loaded]: ...

    async def load(self, table: Table, columns: Sequence[str], rows: Sequence[Row], so_far: Loaded) -> None:
        """Write rows that are not there yet, and how far the table is with them, all or nothing."""

    async def apply(self, table: Table, columns: Sequence[str], changes: Changes) -> None:
        """Bring changed rows up to date, all or nothing."""

    async def between(self, table: Table, columns: Sequence[str], after: Key | None, last: Key | None) -> list[Row]:
        """Rows with keys behind `after`, up to `last`, in any order."""

    async def at(self, table: Table, columns: Sequence[str], keys: Sequence[Key]) -> list[Row]: ...

    async def gather_statistics(self) -> None:
        """Let the database know what it holds now."""

    async def set_zones(self, tzdata: str) -> None: ...

    async def spoil(self) -> None:
        """Let the next copy start over."""

    async def release(self) -> None:
        """It is complete: it may be served."""
