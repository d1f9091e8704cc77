"""One connection, as the moves see it: statements in, rows out, one moment at a time."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import apsw

from dueline.domain.errors import SchemaRefused, StoreMoved, StoreUnavailable
from dueline.runtime.clock import Clock

MEMORY = ":memory:"
_BUSY_MS = 5_000
"""The file is ours alone; only somebody with a database tool in hand can make us wait."""
_STATEMENTS_CACHED = 512
"""As many as the driver takes. After each use a statement goes into the next slot, and drives out what is there: so these are the last
uses, not the last statements, and what was used before them is compiled anew, which takes several times as long as most of them do."""

MOVED_TO = "moved to "
"""What a trigger says that refuses a write, because the file was moved; the address follows."""
STARTS_WAIT = "no run starts while the file is being moved"

_DAMAGED = (apsw.NotADBError, apsw.CorruptError)
_UNAVAILABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.ConnectionClosedError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoLFSError,
    apsw.NoMemError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


class Session:
    """A connection with its clock. All statements of one move see the moment at which it began, by the function `now_ms()`."""

    def __init__(self, path: str, clock: Clock, *, read_only: bool = False) -> None:
        self._clock = clock
        self.now_ms = 0
        self.topics: set[str] = set()
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        self._connection = apsw.Connection(path, flags=flags, statementcachesize=_STATEMENTS_CACHED)
        self._connection.set_busy_timeout(_BUSY_MS)
        # Plans do not depend on arguments. Without this, statements over partial indexes are compiled anew for every set of arguments.
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self._connection.create_scalar_function("now_ms", self._moment, 0, deterministic=True)
        self.begin_move()

    def begin_move(self) -> None:
        """Read the clock for the move that follows, and forget the topics of the one before."""
        self.now_ms = self._clock.wall_ms()
        self.topics = set()

    def rows(self, sql: str, *args: Any) -> list[Any]:
        """Run a statement to its end."""
        return self._connection.execute(sql, args).fetchall()

    def transact(self, sql: str) -> None:
        """Begin or end a transaction, or part of one: compiled as fast as found, and must not drive others out of the cache."""
        self._connection.execute(sql, can_cache=False)

    def value(self, sql: str, *args: Any) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(sql, *args)
        return rows[0][0] if rows else None

    def written(self, sql: str, *args: Any) -> int:
        """Run a statement that writes, and tell how many rows it wrote."""
        self.rows(sql, *args)
        return self._connection.changes()

    def wake(self, *topics: str) -> None:
        """Have listeners told, once this move is committed."""
        self.topics.update(topics)

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def close(self) -> None:
        self._connection.close()

    def _moment(self, *_args: Any) -> int:
        return self.now_ms


def stop_counting_memory() -> None:
    """Have SQLite keep no count of its memory for the rest of the process: it costs a lock for every piece. It can be told so only while no
    connection is open, and counts on otherwise.
    """
    with suppress(apsw.MisuseError):
        apsw.shutdown()
        apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, False)
    apsw.initialize()


def set_up_writer(session: Session, path: str) -> None:
    """Make every commit durable before it is reported: a power cut loses nothing that a caller was told."""
    mode = session.value("PRAGMA journal_mode = WAL")
    if mode != "wal" and path != MEMORY:
        raise StoreUnavailable(f"SQLite: {path} lies where write-ahead logging does not work; use a local disk")
    session.rows("PRAGMA synchronous = FULL")
    # 16 MB of log between checkpoints: pages that change often are copied back once, not every few commits.
    session.rows("PRAGMA wal_autocheckpoint = 4000")
    session.rows("PRAGMA journal_size_limit = 67108864")
    session.rows("PRAGMA cache_size = -32768")
    session.rows("PRAGMA temp_store = MEMORY")


def set_up_reader(session: Session) -> None:
    session.rows("PRAGMA query_only = ON")
    session.rows("PRAGMA cache_size = -16384")
    session.rows("PRAGMA temp_store = MEMORY")


def is_refused(error: Exception) -> bool:
    """Whether a trigger refused the write: the only ones that do are those of a move to another store."""
    refused = getattr(error, "extendedresult", None) == apsw.SQLITE_CONSTRAINT_TRIGGER
    return refused and isinstance(error, apsw.ConstraintError)


def explain(error: Exception) -> Exception:
    """The error that a caller can do something about, for one that SQLite gave."""
    if isinstance(error, _DAMAGED):
        refused = SchemaRefused(f"the file is damaged, or not an SQLite database: {error}")
        refused.__cause__ = error
        return refused
    if is_refused(error):
        said = str(error)
        moving = StoreMoved(said.removeprefix(MOVED_TO)) if said.startswith(MOVED_TO) else StoreUnavailable(said)
        moving.__cause__ = error
        return moving
    if isinstance(error, _UNAVAILABLE):
        unavailable = StoreUnavailable(f"SQLite: {error}")
        unavailable.__cause__ = error
        return unavailable
    return error
