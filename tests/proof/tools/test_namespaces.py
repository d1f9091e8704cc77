"""A pulled wire cuts a process off without a word, and nothing of it stays on the machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from proof.tools import namespaces
from proof.tools.namespaces import network_namespace
from proof.tools.root import run
from tests.support.processes import is_alive, wait_until_dead

pytestmark = pytest.mark.skipif(namespaces.why_not() is not None, reason=str(namespaces.why_not()))

ROOT = Path(__file__).parents[3]


def until(holds: Callable[[], bool], *, within_s: float = 10.0) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_left(wire: str, here: str) -> bool:
    return f"{wire}@" in run("ip", "link") or here.removesuffix("1") in run("ip", "route")


def test_a_partition_bites_and_heals() -> None:
    with network_namespace() as namespace, socket.create_server((namespace.here, 0)) as door:
        port = door.getsockname()[1]
        assert namespace.partition(port) == {"reached_before": True, "reached_during": False}
        assert namespace.heal(port) == {"reached_after": True}
    assert not is_left(namespace.wire, namespace.here)


def test_a_connection_outlives_a_short_partition() -> None:
    talking = "import socket, sys\nline = socket.create_connection((sys.argv[1], int(sys.argv[2])))\nline.sendall(line.recv(9))"
    with network_namespace() as namespace, socket.create_server((namespace.here, 0)) as door:
        port = door.getsockname()[1]
        command = namespace.command(sys.executable, "-I", "-S", "-c", talking, namespace.here, str(port))
        with subprocess.Popen(command) as inside:
            line, address = door.accept()
            with line:
                assert address[0] == namespace.inside
                assert namespace.pids() == [inside.pid]
                namespace.partition(port)
                line.sendall(b"are there")
                line.settimeout(0.5)
                with pytest.raises(TimeoutError):
                    line.recv(9)
                namespace.heal(port)
                line.settimeout(10)
                assert line.recv(9) == b"are there"


def test_while_the_wire_is_down_nothing_leaves_by_another_way() -> None:
    with network_namespace() as namespace, socket.create_server((namespace.here, 0)) as door:
        namespace.partition(door.getsockname()[1])
        with pytest.raises(OSError, match=r"Invalid|unreachable"), socket.socket(type=socket.SOCK_DGRAM) as stray:
            stray.connect((namespace.inside, 9))


def test_inside_there_is_no_way_out() -> None:
    with network_namespace() as namespace:
        routes = run(*namespace.command("ip", "route"))
        assert [line.split()[0] for line in routes.splitlines()] == [f"{namespace.here.rpartition('.')[0]}.0/24"]


def test_who_is_inside_does_not_stay() -> None:
    with network_namespace() as namespace:
        inside = subprocess.Popen(namespace.command("sleep", "60"))
        until(lambda: namespace.pids() == [inside.pid])
    assert inside.wait(5) == -signal.SIGKILL
    assert not is_alive(namespace.pid)


def test_a_killed_test_process_leaves_no_wire() -> None:
    program = (
        "from proof.tools.namespaces import network_namespace\n"
        "with network_namespace() as namespace:\n"
        "    print(namespace.pid, namespace.wire, namespace.here, flush=True)\n"
        "    input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as victim:
        assert victim.stdout is not None
        pid, wire, here = victim.stdout.readline().split()
        assert is_left(wire, here)
        os.kill(victim.pid, signal.SIGKILL)
    wait_until_dead([int(pid)], within_s=10)
    until(lambda: not is_left(wire, here))
