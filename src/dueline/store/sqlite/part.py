"""What the parts of the SQLite store share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import apsw
import msgspec

from dueline.domain import limits
from dueline.domain.errors import AskedBefore
from dueline.domain.job import Job
from dueline.domain.planning import Position
from dueline.domain.requests import RequestKey
from dueline.domain.run import NewRun
from dueline.domain.sharding import shard_of
from dueline.domain.words import LETTERS
from dueline.store.queries import load_queries
from dueline.store.records import delay_ms, is_zoned, wrap_tags
from dueline.store.requests import IN_HAND, NothingDone
from dueline.store.sqlite.database import Database
from dueline.store.sqlite.session import Session

P = ParamSpec("P")
T = TypeVar("T")

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[list[Any]])


class Part:
    """One noun's moves. Statements come from `queries/NOUN.sql`. A public method hands a function of the same name to a lane."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _effect(
        self, about: bytes, move: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Carry out a move that people asked for, `about` one thing or nothing. The request in hand is written down with it."""
        in_hand = IN_HAND.get()
        key = None if in_hand is None or in_hand.noted else in_hand.key
        try:
            done = await self._database.write(_noted, key, about, lambda session: move(session, *args, **kwargs))
        except NothingDone as nothing:
            return nothing.value  # type: ignore[no-any-return]  # what the move would have returned
        if in_hand is not None:
            in_hand.noted = True
        return done


def _noted(session: Session, key: RequestKey | None, about: bytes, move: Callable[[Session], T]) -> T:
    if key is not None:
        args = (key.tenant, key.endpoint, key.key, key.digest, about, limits.REQUEST_KEPT_MS)
        if not session.rows(_REQUESTS["note"], *args):
            raise AskedBefore(f"the request {key.key} was carried out before")
    return move(session)


def queries(noun: str) -> dict[str, str]:
    return load_queries("sqlite", noun)


_REQUESTS = queries("requests")


def pack(rows: list[Any]) -> str:
    """A batch as one argument, for `jsonb_each`; ids in it are hexadecimal.

    One statement for many rows is faster than many statements, and it does not have to win back the interpreter for every row while
    the event loop is busy.
    """
    return _encoder.encode(rows).decode()


def unpack(packed: str) -> list[list[Any]]:
    """The rows of an answer that is one value, for the same reason: the interpreter has to be won back for every row of one that is not."""
    rows: list[list[Any]] = _decoder.decode(packed)
    return rows


def array(ids: Collection[bytes]) -> apsw.CArrayBinding:
    """Ids as one argument, for `carray`, which reads them where they are; there must be at least one."""
    return apsw.carray(tuple(ids))


def pack_ids(ids: Iterable[bytes]) -> str:
    return pack([one.hex() for one in ids])


def run_row(run: NewRun, rank: int) -> tuple[Any, ...]:
    """A run in the order of `enqueue` and `fire`; `set_apart` follows."""
    return (
        run.id.hex(),
        hex_of(run.job_id),
        run.version,
        run.tenant,
        run.kind,
        run.queue,
        run.priority,
        rank,
        run.region,
        int(run.exclusive),
        run.timeout_ms,
        run.scheduled_ms,
        run.due_ms,
        wrap_tags(run.tags),
        hex_of(run.parent_id),
        run.spec,
        run.token,
        run.overlap,
        run.lane,
        run.expires_ms,
    )


def plan_row(job: Job, *, generation: int, stale: bool) -> tuple[Any, ...]:
    """A plan in the order of `replan`."""
    position = job.position
    return (
        job.id.hex(),
        shard_of(job.id),
        job.version,
        generation,
        position.next_ms,
        position.due_ms,
        hex_of(position.awaiting),
        position.runs_left,
        delay_ms(job.definition),
        int(is_zoned(job.definition)),
        int(stale),
    )


def is_exhausted(position: Position) -> bool:
    """Whether nothing of a schedule is left to decide: it has no plan."""
    return position.next_ms is None and position.awaiting is None


def search_arguments(words: Sequence[str]) -> tuple[str, str]:
    """The longest of some words, whose letters are looked for first, and patterns of texts that have words that begin so."""
    return max(words, key=len), pack([f"*[^{LETTERS}]{word}*" for word in words])


def tag_pattern(tag: str | None) -> str | None:
    return None if tag is None else wrap_tags([tag])


def hex_of(identifier: bytes | None) -> str | None:
    return None if identifier is None else identifier.hex()
