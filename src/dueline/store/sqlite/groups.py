"""Group commit: many moves, one transaction, one wait for the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import apsw

from dueline.domain.errors import SchemaRefused, StoreUnavailable
from dueline.store.sqlite.session import Session, explain

Move = Callable[[Session], Any]

_UNDO_ONE = ("ROLLBACK TO move", "RELEASE move")
_UNDO_ALL = ("ROLLBACK", "BEGIN IMMEDIATE")


class Outcome(NamedTuple):
    value: Any
    error: Exception | None


def commit_together(session: Session, moves: Sequence[Move]) -> tuple[list[Outcome], set[str]]:
    """Carry out moves in order and commit them together; answers what became of each, and the topics to wake.

    A move that raises is undone alone. If the commit fails, every move has failed. A group that wrote nothing does not touch the disk.
    """
    topics: set[str] = set()
    shared = len(moves) > 1
    try:
        session.transact("BEGIN IMMEDIATE")
        outcomes = [_attempt(session, move, topics, shared=shared) for move in moves]
        session.transact("COMMIT")
    except (apsw.Error, StoreUnavailable) as error:
        if session.in_transaction:
            with suppress(apsw.Error):
                session.transact("ROLLBACK")
        return [Outcome(None, _failed(error)) for _ in moves], set()
    return outcomes, topics


def _attempt(session: Session, move: Move, topics: set[str], *, shared: bool) -> Outcome:
    """Where the transaction is not shared it is undone as a whole: a savepoint costs as much as a small move."""
    session.begin_move()
    if shared:
        session.transact("SAVEPOINT move")
    try:
        value = move(session)
    except Exception as error:  # reason: whatever ends one move must reach its caller, and must not end its neighbours.
        if not session.in_transaction:
            # SQLite has rolled back everything, as it does when the disk fails: the neighbours are lost as well.
            raise StoreUnavailable(f"SQLite: {error}") from error
        for statement in _UNDO_ONE if shared else _UNDO_ALL:
            session.transact(statement)
        return Outcome(None, explain(error))
    if shared:
        session.transact("RELEASE move")
    topics |= session.topics
    return Outcome(value, None)


def _failed(error: Exception) -> Exception:
    """An error object for each caller: tracebacks of several must not grow on one."""
    known = explain(error)
    if isinstance(known, SchemaRefused):
        return known
    return StoreUnavailable(str(known) if isinstance(known, StoreUnavailable) else f"SQLite: {known}")
