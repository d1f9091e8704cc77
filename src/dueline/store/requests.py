"""What a store does for requests that may be sent again. A part of the protocol.

Moves that people ask for, and that must not be made twice, write the request in hand down in their own transaction: either both are there
or none. Whoever carries out a request puts it in hand, and moves find it there.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from itertools import islice
from typing import Any, Protocol

from dueline.domain.requests import AskedRequest, KeptAnswer, RequestKey


class InHand:
    """A request while it is carried out, and whether one of its moves has written it down."""

    def __init__(self, key: RequestKey) -> None:
        self.key = key
        self.noted = False


IN_HAND: ContextVar[InHand | None] = ContextVar("request_in_hand", default=None)
"""The request that is being carried out; None where it has no key."""


class NothingDone(Exception):
    """Ends the transaction of a move that found nothing to do, and so the request in hand is not written down. The value is its answer."""

    def __init__(self, value: Any) -> None:
        self.value = value


def only(ids: Iterable[bytes]) -> bytes:
    """What a request is about: the only one of the ids, or none."""
    some = list(islice(ids, 2))
    return some[0] if len(some) == 1 else b""


class RequestStore(Protocol):
    """`create_jobs`, `change_job`, `enqueue`, `enqueue_unique`, `cancel_runs`, `redrive`, `try_again`, `resume_queue`,
    `rotate_signing_secret` and `add_api_key` raise AskedBefore, and do nothing, when the request in hand was carried out before; while
    another carries it out, they wait."""

    async def asked_before(self, key: RequestKey) -> AskedRequest | None:
        """What became of a request of that tenant, endpoint and key, whatever was sent with it. One that is too old is forgotten."""

    async def keep_answer(self, key: RequestKey, answer: KeptAnswer) -> None:
        """Keep the first answer to a request, whether it was written down by its move or not."""

    async def forget_requests(self, *, limit: int) -> int:
        """Forget some that are too old. Answers how many."""
