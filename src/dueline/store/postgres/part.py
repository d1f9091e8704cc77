"""What the parts of the PostgreSQL store share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from operator import attrgetter
from typing import Any, Protocol

from dueline.domain import limits
from dueline.domain.errors import AskedBefore
from dueline.domain.fairness import Contender
from dueline.domain.ids import JobId
from dueline.domain.ledger import Unfired
from dueline.domain.planning import Position
from dueline.domain.requests import RequestKey
from dueline.domain.run import NewRun
from dueline.store.postgres.database import Database
from dueline.store.postgres.fronts import Fronts
from dueline.store.postgres.notices import Notices
from dueline.store.postgres.reaching import Connection
from dueline.store.queries import load_queries
from dueline.store.records import join_tags
from dueline.store.requests import IN_HAND


def queries(noun: str) -> dict[str, str]:
    return load_queries("postgres", noun)


_REQUESTS = queries("requests")


class Ranks(Protocol):
    """Whose turn it is; see `ranks`."""

    async def of_new(self, runs: Sequence[NewRun]) -> list[int | None]: ...

    async def of_ready(self, ready: Sequence[Contender]) -> list[int | None]: ...


class Part:
    """One noun's moves. Statements come from `queries/NOUN.sql`."""

    def __init__(self, database: Database, notices: Notices, ranks: Ranks) -> None:
        self._database = database
        self._notices = notices
        self._ranks = ranks
        self._fronts = Fronts()

    @asynccontextmanager
    async def _effect(self, about: bytes = b"") -> AsyncIterator[Connection]:
        """A transaction that does what people asked for, `about` one thing. The request in hand is written down in it."""
        in_hand = IN_HAND.get()
        async with self._database.transaction() as connection:
            if in_hand is not None and not in_hand.noted:
                await _note_request(connection, in_hand.key, about)
            yield connection
        if in_hand is not None:
            in_hand.noted = True

    @asynccontextmanager
    async def _lone_effect(self, about: bytes = b"") -> AsyncIterator[Connection]:
        """The same for a single statement: where no request is in hand, it commits by itself."""
        async with self._database.connection() if IN_HAND.get() is None else self._effect(about) as connection:
            yield connection


async def _note_request(connection: Connection, key: RequestKey, about: bytes) -> None:
    """Whoever else has the same one in hand waits here for the end of this transaction."""
    args = (key.tenant, key.endpoint, key.key, key.digest, about, limits.REQUEST_KEPT_MS)
    if not await connection.fetch(_REQUESTS["note"], *args):
        raise AskedBefore(f"the request {key.key} was carried out before")


in_order = attrgetter("run_id")
"""The key to sort a batch by whose statement locks runs as it comes to them: those that lock them first take them in this order."""


def run_columns(runs: Sequence[NewRun], ranks: Sequence[int | None]) -> list[Any]:
    """New runs as `fire` and `enqueue` unnest them: the first and the last id, and then arrays. Those without a rank wait."""
    ids = [run.id for run in runs]
    return [
        min(ids, default=None),
        max(ids, default=None),
        ids,
        sparse_column([run.job_id for run in runs]),
        sparse_column([run.version for run in runs]),
        common_column([run.tenant for run in runs]),
        common_column([run.kind for run in runs]),
        common_column([run.queue for run in runs]),
        common_column([run.priority for run in runs]),
        ranks,
        common_column([run.region for run in runs]),
        common_column([run.exclusive for run in runs]),
        common_column([run.timeout_ms for run in runs]),
        common_column([run.scheduled_ms for run in runs]),
        common_column([run.due_ms for run in runs]),
        [join_tags(tags) for tags in common_column([run.tags for run in runs])],
        common_column([run.token for run in runs]),
        common_column([run.lane for run in runs]),
        sparse_column([run.overlap for run in runs]),
        sparse_column([run.expires_ms for run in runs]),
        sparse_column([run.fairness_key or None for run in runs]),
        sparse_column([run.missed or None for run in runs]),
    ]


def position_columns(positions: Sequence[Position]) -> list[list[Any]]:
    """Positions as the arrays that `create` and `fire` unnest."""
    return [
        [position.next_ms for position in positions],
        [position.due_ms for position in positions],
        sparse_column([position.awaiting for position in positions]),
        sparse_column([position.runs_left for position in positions]),
    ]


def told_columns(told: Sequence[tuple[JobId, int, Unfired]]) -> list[list[Any]]:
    """What is told of occurrences, each of a version of a job, as the arrays that `fire` and `tell` unnest."""
    return [
        [job_id for job_id, _, _ in told],
        [unfired.from_ms for _, _, unfired in told],
        [unfired.to_ms for _, _, unfired in told],
        [version for _, version, _ in told],
        [unfired.verdict for _, _, unfired in told],
        [unfired.reason for _, _, unfired in told],
    ]


def sparse_column(values: list[Any]) -> list[Any]:
    """A column that is null as a rule. `unnest` fills a shorter array up with nulls, and an empty one costs nothing."""
    return [] if values.count(None) == len(values) else values


def common_column(values: list[Any]) -> list[Any]:
    """A column that is never null, and of which as a rule all runs have the same: an array of one element says so."""
    return values[:1] if values and values.count(values[0]) == len(values) else values
