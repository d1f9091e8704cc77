"""Every fault of the proxy bites, is counted, and heals."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator

import asyncpg
import pytest

from proof.tools.proxy import Proxy, Weather
from tests.support.postgres import PostgresServer

IN_THE_DARK_S = 0.3


class Echo:
    """A target that says everything back, a thread per connection; `heard` is all that ever reached it."""

    def __init__(self) -> None:
        self.heard = b""
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._door.getsockname()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        self._door.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._answer, args=(client,), daemon=True))
            self._threads[-1].start()

    def _answer(self, client: socket.socket) -> None:
        with client:
            try:
                while data := client.recv(65_536):
                    self.heard += data
                    client.sendall(data)
            except OSError:
                return


@pytest.fixture
def echo() -> Iterator[Echo]:
    target = Echo()
    yield target
    target.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(echo.address) as proxy:
        yield proxy


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), timeout=5)


def say(line: socket.socket, words: bytes) -> bytes:
    """What comes back, once as much has come as was said."""
    line.sendall(words)
    return hear(line, len(words))


def hear(line: socket.socket, size: int) -> bytes:
    heard = b""
    while len(heard) < size and (data := line.recv(size - len(heard))):
        heard += data
    return heard


def test_it_passes_everything_on_and_counts_it(proxy: Proxy) -> None:
    words = bytes(range(256)) * 2_000
    with connect(proxy) as line:
        sender = threading.Thread(target=line.sendall, args=(words,))
        sender.start()
        assert hear(line, len(words)) == words
        sender.join()
    assert proxy.counted() == {"accepted": 1, "asked_bytes": len(words), "replied_bytes": len(words)}


def test_a_farewell_is_passed_on(proxy: Proxy) -> None:
    with connect(proxy) as line:
        assert say(line, b"hello") == b"hello"
        line.shutdown(socket.SHUT_WR)
        assert line.recv(1) == b""


def test_latency_delays_each_direction(proxy: Proxy) -> None:
    with connect(proxy) as line:
        say(line, b"quick")
        proxy.slow(latency_s=0.1, jitter_s=0.02)
        begun = time.monotonic()
        say(line, b"slow")
        assert time.monotonic() - begun >= 0.2
        assert proxy.heal()["delayed"] == 2
        say(line, b"quick")
        assert proxy.counted()["delayed"] == 2


def test_bandwidth_is_limited(proxy: Proxy) -> None:
    words = b"x" * 50_000
    with connect(proxy) as line:
        proxy.slow(bytes_per_s=200_000)
        begun = time.monotonic()
        assert say(line, words) == words
        assert time.monotonic() - begun >= len(words) / 200_000


def test_jitter_keeps_the_order() -> None:
    weather = Weather(latency_s=0.1, jitter_s=0.5)
    arrivals = [0.0]
    for sent in range(100):
        arrivals.append(weather.arrival(sent / 1000, arrivals[-1], 1))
    assert arrivals == sorted(arrivals)


def test_in_the_dark_nothing_moves_and_afterwards_all_of_it_arrives(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as old:
        say(old, b"seen")
        assert proxy.go_dark() == {"in_the_dark": 1}
        with connect(proxy) as new:
            for line in (old, new):
                line.sendall(b"unseen")
                line.settimeout(IN_THE_DARK_S)
                with pytest.raises(TimeoutError):
                    line.recv(1)
            assert echo.heard == b"seen"
            proxy.heal()
            for line in (old, new):
                line.settimeout(5)
                assert hear(line, 6) == b"unseen"


def test_refused_is_who_comes_anew(proxy: Proxy) -> None:
    with connect(proxy) as old:
        say(old, b"hello")
        assert proxy.refuse() == {"refused": True}
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
        assert say(old, b"still here") == b"still here"
        proxy.heal()
        with connect(proxy) as new:
            assert say(new, b"back") == b"back"


def test_a_reset_reaches_both_sides(proxy: Proxy) -> None:
    with connect(proxy) as first, connect(proxy) as second:
        for line in (first, second):
            say(line, b"hello")
        assert proxy.reset() == {"reset": 2}
        for line in (first, second):
            with pytest.raises(ConnectionResetError):
                line.recv(1)
    with connect(proxy) as third:
        assert say(third, b"anew") == b"anew"


def test_what_was_asked_is_done_and_the_reply_is_cut(proxy: Proxy, echo: Echo) -> None:
    with connect(proxy) as old:
        say(old, b"hello ")
        proxy.cut_replies(after_bytes=3)
        old.sendall(b"do this")
        with pytest.raises(ConnectionResetError):
            hear(old, 7)
    assert echo.heard == b"hello do this"
    with connect(proxy) as new:
        assert say(new, b"abc") == b"abc"
        new.sendall(b"d")
        with pytest.raises(ConnectionResetError):
            new.recv(1)
    assert proxy.heal()["cut"] == 2
    with connect(proxy) as healed:
        assert say(healed, b"anything at all") == b"anything at all"


def test_a_target_that_is_away_is_a_reset() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address = gone.getsockname()
    # The reset may come while the connection is being waited for, or once it is there.
    with Proxy(address) as proxy, pytest.raises(ConnectionResetError), connect(proxy) as line:
        line.recv(1)


def test_leaving_resets_what_is_open_and_frees_the_port(echo: Echo) -> None:
    with Proxy(echo.address) as proxy:
        line = connect(proxy)
        say(line, b"hello")
    with line, pytest.raises(ConnectionResetError):
        line.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    assert not [thread for thread in threading.enumerate() if thread.name == "proof-proxy"]


@pytest.fixture
async def behind_the_proxy(postgres_server: PostgresServer, postgres_dsn: str) -> AsyncIterator[tuple[Proxy, str]]:
    with Proxy(("127.0.0.1", postgres_server.port)) as proxy:
        yield proxy, postgres_dsn.replace(str(postgres_server.port), str(proxy.port))


async def test_postgres_commits_and_the_reply_is_lost(behind_the_proxy: tuple[Proxy, str], postgres_dsn: str) -> None:
    proxy, dsn = behind_the_proxy
    connection = await asyncpg.connect(dsn)
    await connection.execute("CREATE TABLE mark (n int)")
    proxy.cut_replies(after_bytes=0)
    with pytest.raises((OSError, asyncpg.PostgresConnectionError)):
        await asyncio.wait_for(connection.execute("INSERT INTO mark VALUES (1)"), 5)
    connection.terminate()
    assert proxy.heal()["cut"] == 1
    direct = await asyncpg.connect(postgres_dsn)
    assert await direct.fetchval("SELECT count(*) FROM mark") == 1
    await direct.close()
