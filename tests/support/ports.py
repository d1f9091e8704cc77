"""Ports for programs that must be told theirs before they start."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """A port of 127.0.0.1 that a program may listen on, and that is given to nobody who asks for a free one meanwhile.

    It is bound and never listens: so others may bind it as well if they name it, as servers do that reuse addresses.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]
