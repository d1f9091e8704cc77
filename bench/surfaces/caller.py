"""python -m bench.surfaces.caller: calls a server over some connections, as fast as it answers or at a rate, and tells how long that took.

It takes as little of the machine as it can, since the server shares it: a request is sent as it is, and of an answer only its status and
its end are looked for.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from itertools import count

import msgspec

from bench.timing.lags import quantile


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What to call. `{n}` in the path or the body is the number of the call."""

    host: str
    port: int
    method: str
    path: str
    body: str = ""
    runs: int = 0
    """So many runs, each of which says what the body says, are sent in one call; 0: the body as it is."""
    headers: dict[str, str] = {}
    connections: int
    seconds: float
    per_second: float | None = None
    """None: the next call follows on the answer."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    calls: int
    failed: int
    took_s: float
    p50_ms: float
    p99_ms: float


class Caller:
    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._body = f'{{"runs": [{", ".join([asked.body] * asked.runs)}]}}' if asked.runs else asked.body
        self._numbers = count()
        self.took_ms: list[float] = []
        self.failed = 0

    def _request(self) -> bytes:
        asked, number = self._asked, str(next(self._numbers))
        body = self._body.replace("{n}", number).encode()
        lines = [
            f"{asked.method} {asked.path.replace('{n}', number)} HTTP/1.1",
            f"Host: {asked.host}:{asked.port}",
            *(f"{name}: {value}" for name, value in asked.headers.items()),
            *([f"Content-Length: {len(body)}", "Content-Type: application/json"] if body else []),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, since_s: float) -> bytes:
        """The body of the answer."""
        writer.write(self._request())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        body = await reader.readexactly(length)
        self.failed += not head.startswith(b"HTTP/1.1 2")
        self.took_ms.append((time.perf_counter() - since_s) * 1000)
        return body

    async def one_after_the_other(self, until_s: float) -> None:
        reader, writer = await asyncio.open_connection(self._asked.host, self._asked.port)
        while (now_s := time.perf_counter()) < until_s:
            await self.call(reader, writer, now_s)
        writer.close()

    async def by_the_clock(self, due_s: Iterator[float], until_s: float) -> None:
        """Counted from when a call was due: one that had to wait for its turn is late by that."""
        reader, writer = await asyncio.open_connection(self._asked.host, self._asked.port)
        for at_s in due_s:
            if at_s >= until_s:
                break
            await asyncio.sleep(max(0.0, at_s - time.perf_counter()))
            await self.call(reader, writer, at_s)
        writer.close()


async def _measure(asked: Asked) -> Told:
    caller = Caller(asked)
    began_s = time.perf_counter()
    until_s = began_s + asked.seconds
    if asked.per_second is None:
        await asyncio.gather(*(caller.one_after_the_other(until_s) for _ in range(asked.connections)))
    else:
        gap_s = 1 / asked.per_second
        due_s = (began_s + 0.1 + number * gap_s for number in count())
        await asyncio.gather(*(caller.by_the_clock(due_s, until_s) for _ in range(asked.connections)))
    took_s = time.perf_counter() - began_s
    return Told(
        calls=len(caller.took_ms),
        failed=caller.failed,
        took_s=took_s,
        p50_ms=quantile(caller.took_ms, 0.5),
        p99_ms=quantile(caller.took_ms, 0.99),
    )


def main() -> None:
    import uvloop

    asked = msgspec.json.decode(sys.argv[1], type=Asked)
    print("ready", flush=True)
    sys.stdin.readline()
    print(msgspec.json.encode(uvloop.run(_measure(asked))).decode(), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main()
