"""The one place where peers come in: each that is there, as a contender."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from bench.measured import Contender, Measured
from bench.peers import PEERS
from tests.support.postgres import PostgresServer

ON_POSTGRES = ("graphile-worker", "pg-boss", "pgqueuer", "procrastinate")


def rivals(
    offer: str, names: Iterable[str], count: int, *, server: PostgresServer | None = None
) -> dict[str, Contender]:
    """Those of some peers that are there; `offer` is the name of what they do (`drain_noop`, `drain_task`)."""
    found: dict[str, Contender] = {}
    for name in names:
        if PEERS[name].absent is None:
            found[name] = partial(_contend, getattr(PEERS[name], offer), server, count)
    return found


async def _contend(do: Any, server: PostgresServer | None, count: int, _: int) -> Measured:
    measured: Measured = await do(server, count)
    return measured
