"""The one place where peers come in: each that is there and offers what is measured, as a contender."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bench.measured import Contender, Measured
from tests.support.postgres import PostgresServer

_EMBEDDED = ("huey",)
"""Those that need no server: they are held against SQLite."""


def rivals(offer: str, server: PostgresServer, count: int, *, embedded: bool = False) -> dict[str, Contender]:
    """Peers by name; `offer` is the name of what they do (`drain_noop`, `drain_task`)."""
    found: dict[str, Contender] = {}
    for name, peer in _peers().items():
        do = getattr(peer, offer, None)
        if do is not None and peer.absent is None and (name in _EMBEDDED) is embedded:

            async def contend(_: int, do: Any = do) -> Measured:
                measured: Measured = await do(server, count)
                return measured

            found[name] = contend
    return found


def _peers() -> Mapping[str, Any]:
    if find_spec("bench.peers") is None:
        return {}
    peers: Mapping[str, Any] = import_module("bench.peers").PEERS
    return peers
