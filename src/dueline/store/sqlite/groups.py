"""Group commit: many moves, one transaction, one wait for the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import apsw

from dueline.domain.errors import SchemaRefused, StoreUnavailable
from dueline.store.sqlite.session import Session, explain

Move = Callable[[Session], Any]

_LONG_MS = 3
"""A move that takes so long is committed before the next begins. The disk takes no longer, so nothing is gained by sharing it; and whoever
asked for a thousand runs has them in hand while the writer is busy with the thousand before."""

_UNDO_ONE = ("ROLLBACK TO move", "RELEASE move")
_UNDO_ALL = ("ROLLBACK", "BEGIN IMMEDIATE")


class Outcome(NamedTuple):
    value: Any
    error: Exception | None


def commit_together(session: Session, moves: Sequence[Move]) -> tuple[list[Outcome], set[str]]:
    """Carry out moves in order and commit them together; answers what became of each, and the topics to wake.

    After a long one the others are not begun, and have no outcome. A move that raises is undone alone. If the commit fails, every move has
    failed. A group that wrote nothing does not touch the disk.
    """
    topics: set[str] = set()
    outcomes: list[Outcome] = []
    try:
        session.transact("BEGIN IMMEDIATE")
        for move in moves:
            last_ms = session.now_ms
            session.begin_move()
            if outcomes and session.now_ms - last_ms >= _LONG_MS:
                break
            outcomes.append(_attempt(session, move, topics, first=not outcomes))
        session.transact("COMMIT")
    except (apsw.Error, StoreUnavailable) as error:
        if session.in_transaction:
            with suppress(apsw.Error):
                session.transact("ROLLBACK")
        return [Outcome(None, _failed(error)) for _ in moves], set()
    return outcomes, topics


def _attempt(session: Session, move: Move, topics: set[str], *, first: bool) -> Outcome:
    """With the first move its transaction is undone as a whole: a savepoint costs as much as a small move."""
    if not first:
        session.transact("SAVEPOINT move")
    try:
        value = move(session)
    except Exception as error:  # reason: whatever ends one move must reach its caller, and must not end its neighbours.
        if not session.in_transaction:
            # SQLite has rolled back everything, as it does when the disk fails: the neighbours are lost as well.
            raise StoreUnavailable(f"SQLite: {error}") from error
        for statement in _UNDO_ALL if first else _UNDO_ONE:
            session.transact(statement)
        return Outcome(None, explain(error))
    if not first:
        session.transact("RELEASE move")
    topics |= session.topics
    return Outcome(value, None)


def _failed(error: Exception) -> Exception:
    """An error object for each caller: tracebacks of several must not grow on one."""
    known = explain(error)
    if isinstance(known, SchemaRefused):
        return known
    return StoreUnavailable(str(known) if isinstance(known, StoreUnavailable) else f"SQLite: {known}")
