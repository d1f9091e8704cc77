"""python -m bench.timing.target FILE: a target that answers at once, and notes of every call when it came and when it was scheduled.

It prints its port. A note is two doubles, seconds since 1970 and milliseconds since 1970, written before the answer.
"""

from __future__ import annotations

import asyncio
import os
import re
import struct
import sys
import time
from datetime import datetime
from functools import lru_cache
from typing import cast

import uvloop

from tests.support.target import BACKLOG, raise_descriptor_limit

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
_SCHEDULED = re.compile(rb"\r\nDueline-Scheduled-At: ([^\r]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)", re.IGNORECASE)
_END = b"\r\n\r\n"


class _Connection(asyncio.Protocol):
    def __init__(self, notes: int) -> None:
        self._notes = notes
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (end := self._unread.find(_END)) >= 0:
            head = self._unread[: end + 2]
            length = _LENGTH.search(head)
            after = end + len(_END) + (int(length[1]) if length else 0)
            if len(self._unread) < after:
                return
            scheduled = _SCHEDULED.search(head)
            at_ms = _instant_ms(scheduled[1]) if scheduled else 0.0
            os.write(self._notes, struct.pack("dd", time.time(), at_ms))
            self._transport.write(_ANSWER)
            self._unread = self._unread[after:]


@lru_cache(maxsize=4_096)
def _instant_ms(text: bytes) -> float:
    return round(datetime.fromisoformat(text.decode()).timestamp() * 1000)


async def _serve(path: str) -> None:
    raise_descriptor_limit()
    notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(notes), "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))
