"""No call reaches an address that the policy refuses, however its URL is written and wherever its name leads.

Real listeners watch; the kernel completes a connection to them without being asked, so whatever arrives is counted.
"""

import contextlib
import errno
import os
import socket
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pycurl
import pytest

from dueline.domain.addresses import AddressPolicy, judge, read_network
from dueline.domain.retry import RetryPolicy, is_retryable
from dueline.domain.run import OutcomeKind
from dueline.engine.execution.outcomes import read_reply
from dueline.worker.executors import transfer
from dueline.worker.executors.http import HttpCall, HttpFailure
from dueline.worker.executors.sockets import Connections
from dueline.worker.executors.transfer import Transfer
from tests.support.calling import Caller, OpenCaller
from tests.support.target import KEY_AND_CERTIFICATE, Answer, Target, closed_port

DENY = partial(judge, policy=AddressPolicy())
ALLOW_ONE = partial(judge, policy=AddressPolicy(allow=(read_network("127.0.0.1"),)))
"""127.0.0.1, where the target is, and no other private address."""


def urls(text: str) -> list[str]:
    return [word if "://" in word else f"http://{word}" for word in text.split()]


LOCAL = urls("""
    127.0.0.1:{port} https://127.0.0.1:{port}/ HTTP://127.0.0.1:{port} http:///127.0.0.1:{port}/ 127.0.0.2:{port}
    127.255.255.255:{port} localhost:{port} LOCALHOST:{port} localhost.:{port} a.localhost:{port} a.b.localhost.:{port}
    2130706433:{port} 2130706434:{port} 0x7f000001:{port} 0X7F000001:{port} 017700000001:{port} 0177.0.0.1:{port}
    0177.0.0.02:{port} 0x7f.1:{port} 127.1:{port} 127.0.1:{port} 127.0x1:{port} 0x7f.0x0.0x0.0x1:{port} 127.0.0.001:{port}
    0000000177.0.0.1:{port} 127.0.0.1.:{port} 127.65530:{port} 0:{port} 00:{port} 0x0:{port} 0.0:{port} 0.0.0.0:{port}
    127%2e0%2e0%2e1:{port} %31%32%37.0.0.1:{port} %6cocalhost:{port} loc%61lhost:{port} 127.0.0.1:{port}#@example.com
    127.0.0.1:{port}?@example.com 127.0.0.1:{port}/../../@example.com
    [::1]:{port} [0:0:0:0:0:0:0:1]:{port} [::]:{port} [0::0]:{port} [::ffff:127.0.0.1]:{port} [::ffff:7f00:1]:{port}
    [0:0:0:0:0:ffff:127.0.0.1]:{port} [::FFFF:127.0.0.2]:{port} [::ffff:0.0.0.0]:{port} [::127.0.0.1]:{port}
    [::ffff:0:127.0.0.1]:{port} [64:ff9b::127.0.0.1]:{port} [64:ff9b:1::127.0.0.1]:{port} [2002:7f00:1::]:{port}
    [2002:7f00:1::1]:{port} [2001:0:7f00:1::]:{port} [::1%25lo]:{port} [::1%lo]:{port} [::1%251]:{port} [fe80::1%25lo]:{port}
    169.254.169.254/latest/meta-data/ 169.254.169.254.:80 2852039166 0xa9fea9fe [::ffff:a9fe:a9fe] [64:ff9b::a9fe:a9fe]
    [fd00:ec2::254] 168.63.129.16 192.0.0.192 100.100.100.200 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1 224.0.0.1
    255.255.255.255 240.0.0.1 198.18.0.1 192.0.2.1 [fe80::1] [fec0::1] [fd00::1] [ff02::1] [100::1] [5f00::1] [2001:db8::1]
""")
"""Each leads to an address, and that is refused."""

UNREADABLE = urls("""
    http:127.0.0.1:{port}/ http:////127.0.0.1:{port}/ http:\\\\127.0.0.1:{port}/ 127.0.0.1..:{port} ①②⑦.0.0.1:{port}
    127。0。0。1:{port} ⓛocalhost:{port} loc\u00adalhost:{port} 127.0.0.1%00.example.com:{port} 127.0.0.1%20:{port}
    127.0.0.1%2f:{port} user@127.0.0.1:{port} user:pass@127.0.0.1:{port} example.com:80@127.0.0.1:{port}
    127.0.0.1:{port}@127.0.0.2 example.com%40127.0.0.1:{port} example.com\\@127.0.0.1:{port} @127.0.0.1:{port} :@127.0.0.1:{port}
    a@b@127.0.0.1:{port} ::1:{port} [::1:{port} [127.0.0.1]:{port} [localhost]:{port} %5B::1%5D:{port} [v1.::1]:{port}
    [::1]:{port}%2f file:///etc/passwd gopher://127.0.0.1:{port}/_x dict://127.0.0.1:{port}/ ftp://127.0.0.1:{port}/
    ws://127.0.0.1:{port}/ wss://127.0.0.1:{port}/ unix:///run/some.socket http+unix://%2frun%2fsome.socket/
    telnet://127.0.0.1:{port} tftp://127.0.0.1:{port}/x socks5://127.0.0.1:{port}/ http2://127.0.0.1:{port}/
""")
"""No client may read an address out of these."""

UNKNOWN = urls("""
    %E2%91%A0%E2%91%A1%E2%91%A6.0.0.1:{port} 127%E3%80%820%E3%80%820%E3%80%821:{port} 127.0.0.256:{port} 383.0.0.1:{port}
    4294967296:{port} 6425673729:{port} localhost.invalid:{port} 127.0.0.1.invalid:{port}
""")
"""Names, to libcurl. What a resolver makes of them differs; none of it is called."""


class Watch:
    """Listens on one port of several loopback addresses, and answers nobody."""

    def __init__(self, *hosts: str, port: int = 0) -> None:
        self.port = port
        self._sockets: list[socket.socket] = []
        for host in hosts:
            listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            self._sockets.append(listener)
            listener.setblocking(False)
            listener.bind((host, self.port))
            listener.listen(256)
            self.port = listener.getsockname()[1]

    def arrived(self) -> int:
        """Connections since the last time of asking."""
        count = 0
        for listener in self._sockets:
            with contextlib.suppress(BlockingIOError):
                while True:
                    listener.accept()[0].close()
                    count += 1
        return count

    def close(self) -> None:
        for listener in self._sockets:
            listener.close()


@pytest.fixture
def watch() -> Iterator[Watch]:
    with contextlib.closing(Watch("127.0.0.1", "127.0.0.2", "::1")) as watch:
        yield watch


@pytest.fixture
def beside(target: Target) -> Iterator[Watch]:
    """At the target's port, on addresses that `ALLOW_ONE` refuses."""
    with contextlib.closing(Watch("127.0.0.2", "::1", port=target.port)) as beside:
        yield beside


Names = Callable[..., None]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """Says what a name leads to, from the next call on."""
    known: list[str] = []
    prepare = Transfer.prepare

    def prepare_with_names(self: Transfer, call: HttpCall, timeout_ms: int) -> None:
        self.handle.setopt(pycurl.RESOLVE, known)
        prepare(self, call, timeout_ms)

    def lead(name: str, port: int, *addresses: str) -> None:
        spelt = ",".join(f"[{address}]" if ":" in address else address for address in addresses)
        known[:] = [f"-{name}:{port}", f"{name}:{port}:{spelt}"]

    monkeypatch.setattr(Transfer, "prepare", prepare_with_names)
    return lead


def test_the_tables_are_large() -> None:
    assert len({*LOCAL, *UNREADABLE, *UNKNOWN}) >= 120


@pytest.mark.parametrize(
    ("url", "failures"),
    [
        *((url, {HttpFailure.REFUSED_ADDRESS}) for url in LOCAL),
        *((url, {HttpFailure.INVALID}) for url in UNREADABLE),
        *((url, {HttpFailure.DNS, HttpFailure.REFUSED_ADDRESS, HttpFailure.INVALID}) for url in UNKNOWN),
    ],
)
async def test_a_hostile_url_reaches_nobody(
    open_caller: OpenCaller, watch: Watch, url: str, failures: set[HttpFailure]
) -> None:
    caller = open_caller(judge_address=DENY)
    for method, body in (("POST", b"{}"), ("GET", None)):
        reply = await caller.call(url.format(port=watch.port), method, body)
        assert reply.failure in failures, reply.detail
        outcome = read_reply(reply)
        if reply.failure is not HttpFailure.DNS:
            assert outcome.kind is OutcomeKind.IMPOSSIBLE
            assert not is_retryable(RetryPolicy(), outcome)
        if reply.failure is HttpFailure.REFUSED_ADDRESS:
            assert "it is called only if the setting" in (outcome.error or "")
    assert watch.arrived() == 0


async def test_without_the_guard_they_arrive(caller: Caller, watch: Watch) -> None:
    """The watch is awake, and the table is not harmless."""
    aimed = [url.format(port=watch.port) for url in LOCAL if "{port}" in url]
    calls = [HttpCall(key, "GET", url, (), None, 500) for key, url in enumerate(aimed)]
    caller.executor.submit(calls)
    await caller.answered(len(calls))
    assert watch.arrived() > 40


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "10.0.0.1", "169.254.169.254", "fe80::1"],
)
async def test_a_name_is_worth_nothing(open_caller: OpenCaller, watch: Watch, names: Names, address: str) -> None:
    names("api.example.com", watch.port, address)
    reply = await open_caller(judge_address=DENY).call(f"https://api.example.com:{watch.port}/")
    assert reply.failure is HttpFailure.REFUSED_ADDRESS
    assert reply.detail == DENY(address)
    assert watch.arrived() == 0


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.2", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.2"),
        ("::1", "127.0.0.1"),
        ("127.0.0.1", "::1"),
        ("::1", "127.0.0.2", "::ffff:127.0.0.2", "127.0.0.1"),
    ],
)
async def test_of_several_addresses_only_the_allowed_are_tried(
    open_caller: OpenCaller, target: Target, beside: Watch, names: Names, addresses: tuple[str, ...]
) -> None:
    names("both.example.com", target.port, *addresses)
    caller = open_caller(judge_address=ALLOW_ONE)
    for _ in range(3):
        assert (await caller.call(f"http://both.example.com:{target.port}/ok")).status == 200
        await target.hang_up()
    assert beside.arrived() == 0


async def test_an_allowed_address_that_is_away_may_come_back(open_caller: OpenCaller, names: Names) -> None:
    """Then the call failed for that, not because another address of the name is refused for ever."""
    with closed_port() as port:
        names("both.example.com", port, "127.0.0.2", "127.0.0.1")
        reply = await open_caller(judge_address=ALLOW_ONE).call(f"http://both.example.com:{port}/")
    assert reply.failure is HttpFailure.CONNECT
    assert "127.0.0.2 is a loopback address" in reply.detail
    assert is_retryable(RetryPolicy(), read_reply(reply))


async def test_a_name_that_is_bound_anew_leads_nowhere(
    open_caller: OpenCaller, target: Target, beside: Watch, names: Names
) -> None:
    """Good when it was checked, bad when it is called: there is no such gap, because only the second is looked at."""
    url = f"http://rebinding.example.com:{target.port}/ok"
    caller = open_caller(judge_address=ALLOW_ONE)
    names("rebinding.example.com", target.port, "127.0.0.1")
    assert (await caller.call(url)).status == 200
    await target.hang_up()
    for address in ("127.0.0.2", "::1", "::ffff:127.0.0.2", "0.0.0.0"):
        names("rebinding.example.com", target.port, address)
        assert (await caller.call(url)).failure is HttpFailure.REFUSED_ADDRESS
    names("rebinding.example.com", target.port, "127.0.0.1")
    assert (await caller.call(url)).status == 200
    assert (len(target.hits), beside.arrived()) == (2, 0)


async def test_a_kept_connection_stays_where_it_was_allowed(
    open_caller: OpenCaller, target: Target, beside: Watch, names: Names
) -> None:
    """Its address was judged when it was opened, by the same policy; another name does not get it."""
    caller = open_caller(judge_address=ALLOW_ONE)
    for address in ("127.0.0.1", "127.0.0.2"):
        names("kept.example.com", target.port, address)
        assert (await caller.call(f"http://kept.example.com:{target.port}/ok")).status == 200
    names("other.example.com", target.port, "127.0.0.2")
    assert (await caller.call(f"http://other.example.com:{target.port}/ok")).failure is HttpFailure.REFUSED_ADDRESS
    assert (target.connections_total, beside.arrived()) == (1, 0)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308])
@pytest.mark.parametrize("header", ["Location", "Refresh", "Content-Location", "Link"])
async def test_a_redirect_is_an_answer_and_nothing_more(
    open_caller: OpenCaller, target: Target, beside: Watch, status: int, header: str
) -> None:
    """So there is no second hop that anybody would have to judge."""
    target.on("/away", lambda _: Answer(status, {header: f"http://127.0.0.2:{target.port}/ok"}))
    for caller in (open_caller(judge_address=ALLOW_ONE), open_caller()):
        for method in ("GET", "POST"):
            reply = await caller.call(f"{target.url}/away", method)
            assert (reply.status, read_reply(reply).kind) == (status, OutcomeKind.REFUSED)
    assert (len(target.hits), beside.arrived()) == (4, 0)


async def test_proxies_of_the_environment_are_not_asked(
    open_caller: OpenCaller, target: Target, beside: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scheme in ("http", "https", "all"):
        for variable in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            monkeypatch.setenv(variable, f"http://127.0.0.2:{target.port}")
    for caller in (open_caller(judge_address=ALLOW_ONE), open_caller()):
        assert (await caller.call(f"{target.url}/ok")).status == 200
        assert (await caller.call(f"https://127.0.0.1:{target.port}/ok", ms=100)).failure is not None
    assert beside.arrived() == 0


async def test_a_target_cannot_send_its_callers_elsewhere(open_caller: OpenCaller, tmp_path: Path) -> None:
    """Neither by Alt-Svc, over TCP or QUIC, nor by HSTS."""
    certificate = tmp_path / "ca.pem"
    certificate.write_text(KEY_AND_CERTIFICATE)
    caller = open_caller(ca_file=str(certificate))
    async with Target(tls=True) as target:
        with (
            contextlib.closing(Watch("127.0.0.2", port=target.port)) as beside,
            socket.socket(type=socket.SOCK_DGRAM) as quic,
        ):
            quic.bind(("127.0.0.2", target.port))
            quic.setblocking(False)
            elsewhere = f'h3="127.0.0.2:{target.port}"; ma=3600, h2="127.0.0.2:{target.port}", http/1.1="127.0.0.2:{target.port}"'
            told = {"Alt-Svc": elsewhere, "Strict-Transport-Security": "max-age=3600", "Connection": "close"}
            target.on("/told", lambda _: Answer(headers=told))
            for _ in range(3):
                assert (await caller.call(f"{target.url}/told")).status == 200
            assert len(target.hits) == target.connections_total == 3
            assert beside.arrived() == 0
            with pytest.raises(BlockingIOError):
                quic.recv(1)


@pytest.mark.parametrize("family", [socket.AF_UNIX, socket.AF_UNSPEC, 9_999])
def test_only_ip_addresses_get_a_socket(family: int) -> None:
    every = AddressPolicy(private=True, allow=(read_network("0.0.0.0/0"), read_network("::/0")))
    carrier = Transfer(
        connections=Connections(),
        connect_timeout_ms=1,
        judge_address=partial(judge, policy=every),
        may_send=lambda: True,
        ca_file=None,
    )
    assert carrier._on_open_socket(0, (family, socket.SOCK_STREAM, 0, "/run/some.socket")) == pycurl.SOCKET_BAD


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
async def test_a_judge_that_breaks_lets_nobody_through(open_caller: OpenCaller, target: Target, host: str) -> None:
    caller = open_caller(judge_address=Mock(side_effect=KeyError("broken")))
    reply = await caller.call(f"http://{host}:{target.port}/ok")
    assert reply.failure is HttpFailure.REFUSED_ADDRESS
    assert "could not be checked: KeyError('broken')" in reply.detail
    assert target.connections_total == 0


async def test_the_judge_is_asked_once_a_connection(open_caller: OpenCaller, target: Target) -> None:
    allow = Mock(return_value=None)
    caller = open_caller(judge_address=allow)
    assert [(await caller.call(f"{target.url}/ok")).status for _ in range(3)] == [200, 200, 200]
    allow.assert_called_once_with("127.0.0.1")


async def test_the_policy_opens_private_networks(open_caller: OpenCaller, target: Target) -> None:
    caller = open_caller(judge_address=partial(judge, policy=AddressPolicy(private=True)))
    for host in ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]"):
        assert (await caller.call(f"http://{host}:{target.port}/ok")).status == 200
    for host in ("169.254.169.254", "[fd00:ec2::254]", "0.0.0.0"):
        assert (await caller.call(f"http://{host}:{target.port}/ok")).failure is HttpFailure.REFUSED_ADDRESS


async def test_a_denied_network_is_not_called(open_caller: OpenCaller, target: Target) -> None:
    policy = AddressPolicy(private=True, allow=(read_network("127.0.0.1"),), deny=(read_network("127.0.0.0/24"),))
    reply = await open_caller(judge_address=partial(judge, policy=policy)).call(f"{target.url}/ok")
    assert (reply.failure, target.connections_total) == (HttpFailure.REFUSED_ADDRESS, 0)
    assert "127.0.0.0/24, which the setting target_deny refuses" in reply.detail


async def test_a_machine_out_of_descriptors_is_not_a_refusal(
    open_caller: OpenCaller, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = open_caller(judge_address=ALLOW_ONE)
    with monkeypatch.context() as broken:
        out = Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
        broken.setattr(transfer, "socket", Mock(wraps=socket, socket=out, AF_INET=socket.AF_INET, SOCK_NONBLOCK=0))
        reply = await caller.call(f"{target.url}/ok")
    assert (reply.failure, is_retryable(RetryPolicy(), read_reply(reply))) == (HttpFailure.CONNECT, True)
    assert (await caller.call(f"{target.url}/ok")).status == 200


async def test_sockets_are_given_back(open_caller: OpenCaller, target: Target) -> None:
    caller = open_caller(judge_address=ALLOW_ONE)
    counts = []
    for _ in range(3):
        for _ in range(20):
            await caller.call(f"{target.url}/close-after-read")
            await caller.call(f"http://127.0.0.2:{target.port}/")
        counts.append(len(os.listdir("/proc/self/fd")))
    assert counts[2] <= counts[0] + 2
