"""To a connection: which of several hosts it leads to, and how one that has fallen silent is noticed."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
from asyncpg.connect_utils import SessionAttribute

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    Connection = asyncpg.Connection

SILENCE_S = 5
"""A machine that confirms nothing for so long is gone, or the way to it: however busy a server is, its machine confirms at once."""
_PROBE_AFTER_S = 2
_PROBE_EVERY_S = 1
_PROBES_MAX = 3


class WatchedConnection(Connection):
    """Breaks when the server falls silent. A machine that is gone resets nothing: statements would wait for their timeout, and
    a connection that only listens would wait for ever.
    """

    __slots__ = ()

    def __init__(self, protocol: Any, transport: Any, *rest: Any) -> None:
        super().__init__(protocol, transport, *rest)
        # A socket of our own on the same connection, because loops differ in what they let one do with theirs.
        with socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno())) as wire:
            if wire.family != socket.AF_UNIX:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_S)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES_MAX)
                wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_S * 1000)


async def reach(dsn: str | None = None, **options: Any) -> Connection:
    """Connect to the one host, or to whichever of several can be written to.

    Several are asked at once: one whose machine is gone does not even refuse, and in turn it would use up everybody's patience.
    """
    options["connection_class"] = WatchedConnection
    dsns = one_per_host(dsn or "")
    if len(dsns) == 1:
        connection: Connection = await asyncpg.connect(dsn, **options)
        return connection
    options["target_session_attrs"] = SessionAttribute.read_write
    return await _first_of([asyncio.ensure_future(asyncpg.connect(one, **options)) for one in dsns])


def one_per_host(dsn: str) -> list[str]:
    """`postgresql://a:1,b:2/name` as `postgresql://a:1/name` and `postgresql://b:2/name`."""
    scheme, _, rest = dsn.partition("://")
    end = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    authority, tail = rest[:end], rest[end:]
    account, at, hosts = authority.rpartition("@")
    return [f"{scheme}://{account}{at}{host}{tail}" for host in hosts.split(",")]


async def _first_of(attempts: list[asyncio.Future[Connection]]) -> Connection:
    """The first connection that is made; the other attempts are given up, and so is what they made by then."""
    chosen: Connection | None = None
    error: BaseException | None = None
    pending = set(attempts)
    try:
        while pending and chosen is None:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for attempt in done:
                error = attempt.exception() or error
                if attempt.exception() is None:
                    chosen = chosen or attempt.result()
    finally:
        for attempt in attempts:
            attempt.cancel()
        for made in await asyncio.gather(*attempts, return_exceptions=True):
            if isinstance(made, asyncpg.Connection) and made is not chosen:
                made.terminate()
    if chosen is None:
        assert error is not None
        raise error
    return chosen
