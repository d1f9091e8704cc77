"""A target that does harm, as a process of its own, so that its memory is not the tests' memory.

`python -m tests.support.hostile` prints its port, and does on every connection what the path of the first request says. It shares no
code with the product.
"""

import asyncio
import contextlib
import socket
import struct
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from email.utils import formatdate
from functools import cache
from itertools import count
from pathlib import Path
from time import time

EXPIRED_KEY_AND_CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg6EHcHJ8VCHTzHwlZ
hBtMVqJtw/dtbotOgjvclINzvU6hRANCAATNClQFeBlQIM7TSknL9nS9YHsOiMTE
HG6bM0HXm0S2NOaoKVXiKVgvzGe/e8bY9kCi1AUOYHAOHJgiVV8VL8G1
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBczCCARqgAwIBAgIBATAKBggqhkjOPQQDAjAhMR8wHQYDVQQDDBZkdWVsaW5l
IGV4cGlyZWQgdGFyZ2V0MB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFow
ITEfMB0GA1UEAwwWZHVlbGluZSBleHBpcmVkIHRhcmdldDBZMBMGByqGSM49AgEG
CCqGSM49AwEHA0IABM0KVAV4GVAgztNKScv2dL1gew6IxMQcbpszQdebRLY05qgp
VeIpWC/MZ797xtj2QKLUBQ5gcA4cmCJVXxUvwbWjQzBBMA8GA1UdEwEB/wQFMAMB
Af8wDwYDVR0RBAgwBocEfwAAATAdBgNVHQ4EFgQU8OK9eIR7KtqkWjoHN/uK+9Hh
quswCgYIKoZIzj0EAwIDRwAwRAIgcDQKBQNnGFGdSlTpdtHlMbx0uyWmt7MaxfQJ
Dp0S4N8CIAbcLl7yT6UEWAfRC9dWrZrZU6tuMR8YI7Ax1a1PT1V/
-----END CERTIFICATE-----
"""
"""For 127.0.0.1, signed by itself, expired in 2021. The key protects nothing."""

FLOOD_BYTES = 100_000_000
BLOCK = b"x" * 65_536
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"

Harm = Callable[[asyncio.StreamWriter], Coroutine[None, None, None]]


async def flood(writer: asyncio.StreamWriter) -> None:
    """A body of 100 MB."""
    writer.write(OK + b"Content-Length: %d\r\n\r\n" % FLOOD_BYTES)
    for _ in range(FLOOD_BYTES // len(BLOCK)):
        await _send(writer, BLOCK)


async def chunked_flood(writer: asyncio.StreamWriter) -> None:
    """A body without an end."""
    writer.write(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        await _send(writer, b"%x\r\n%b\r\n" % (len(BLOCK), BLOCK))


async def bomb(writer: asyncio.StreamWriter) -> None:
    """A hundred KB that unpack to 100 MB."""
    body = _packed()
    await _send(writer, OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def endless_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    for number in count():
        await _send(writer, b"X-Request-Id: %d\r\n" % number)


async def endless_line(writer: asyncio.StreamWriter) -> None:
    writer.write(OK + b"X-Request-Id: ")
    while True:
        await _send(writer, BLOCK)


async def endless_continues(writer: asyncio.StreamWriter) -> None:
    while True:
        await _send(writer, b"HTTP/1.1 100 Continue\r\nX-Request-Id: 1\r\n\r\n")


async def drip(writer: asyncio.StreamWriter) -> None:
    """A byte now and then, for ever."""
    writer.write(OK + b"Content-Length: 1000000000\r\n\r\n")
    while True:
        await _send(writer, b"x")
        await asyncio.sleep(0.05)


async def hang(_writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def reset(writer: asyncio.StreamWriter) -> None:
    _reset(writer)


async def reset_in_body(writer: asyncio.StreamWriter) -> None:
    await _send(writer, OK + b"Content-Length: 100\r\n\r\nhalf")
    await asyncio.sleep(0.05)
    _reset(writer)


async def close_in_body(writer: asyncio.StreamWriter) -> None:
    await _send(writer, OK + b"Content-Length: 100\r\n\r\nhalf")


async def bad_chunks(writer: asyncio.StreamWriter) -> None:
    await _send(writer, OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nnonsense\r\n")


async def huge_chunk(writer: asyncio.StreamWriter) -> None:
    await _send(writer, OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n")


async def two_lengths(writer: asyncio.StreamWriter) -> None:
    await _send(writer, OK + b"Content-Length: 2\r\nContent-Length: 4\r\n\r\nokok")


async def garbage(writer: asyncio.StreamWriter) -> None:
    await _send(writer, bytes(range(256)) * 100)


async def loop(writer: asyncio.StreamWriter) -> None:
    """A redirect to itself."""
    await _send(writer, b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /loop\r\nContent-Length: 0\r\n\r\n")


async def later_by_date(writer: asyncio.StreamWriter) -> None:
    date = formatdate(time() + 100, usegmt=True).encode()
    await _send(
        writer, b"HTTP/1.1 429 Slow\r\nConnection: close\r\nRetry-After: %b\r\nContent-Length: 0\r\n\r\n" % date
    )


async def later_by_seconds(writer: asyncio.StreamWriter) -> None:
    await _send(
        writer, b"HTTP/1.1 503 Slow\r\nConnection: close\r\nRetry-After: 99999999999\r\nContent-Length: 0\r\n\r\n"
    )


HARMS: dict[str, Harm] = {
    "/" + harm.__name__.replace("_", "-"): harm
    for harm in (
        *(flood, chunked_flood, bomb, endless_headers, endless_line, endless_continues, drip, hang, reset),
        *(reset_in_body, close_in_body, bad_chunks, huge_chunk, two_lengths, garbage, loop),
        *(later_by_date, later_by_seconds),
    )
}


@cache
def _packed() -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()


async def _send(writer: asyncio.StreamWriter, wire: bytes) -> None:
    writer.write(wire)
    await writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    peer: socket.socket = writer.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        head = await reader.readuntil(b"\r\n\r\n")
        await HARMS[head.split(b" ")[1].decode()](writer)
    writer.close()


async def _serve() -> None:
    server = await asyncio.start_server(_serve_one, "127.0.0.1", 0, backlog=1_024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextlib.asynccontextmanager
async def hostile_target() -> AsyncIterator[str]:
    """The URL of a process that does harm, for as long as the context lasts."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.hostile"),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
