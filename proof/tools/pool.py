"""Every connection that a server has left is taken: whoever comes next is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from proof.tools.evidence import Evidence

CONNECTIONS_MAX = 10_000
"""More than a server is set up for."""


@contextmanager
def exhausted_connections(dsn: str) -> Iterator[Evidence]:
    """From entering to leaving. Connections that others have stay theirs, and whoever lets one go may not get another."""
    taken: list[psycopg.Connection] = []
    try:
        refused = _take(dsn, taken)
        yield {"taken": len(taken), "refused": refused}
    finally:
        for connection in taken:
            connection.close()


def _take(dsn: str, taken: list[psycopg.Connection]) -> str:
    """Until the server refuses; answers its words."""
    while len(taken) < CONNECTIONS_MAX:
        try:
            taken.append(psycopg.connect(dsn, application_name="proof-pool"))
        except psycopg.OperationalError as error:
            return str(error).strip()
    raise RuntimeError(f"the server has room for more than {CONNECTIONS_MAX} connections")
