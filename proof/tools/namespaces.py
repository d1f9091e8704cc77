"""A network of its own for a process, joined to this one by a wire that can be pulled."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proof.tools.evidence import Evidence
from proof.tools.root import lacking, run
from proof.tools.undo import Undo

NETWORKS = range(256)
"""10.203.n.0/24: here is 10.203.n.1, and inside is 10.203.n.2."""
GUARD_METRIC = "4000"
READY_S_MAX = 5.0
PROBE_S_MAX = 1.0
POLL_S = 0.01

_PROBE = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), float(sys.argv[3])).close()"


def why_not() -> str | None:
    if (missing := lacking("ip", "unshare", "nsenter")) is not None:
        return missing
    try:
        # In a namespace that is gone with this command.
        run("unshare", "--net", "ip", "link", "add", "type", "veth")
    except OSError as error:
        return f"the kernel makes no network namespaces: {error}"
    return None


@dataclass(frozen=True)
class Namespace:
    """Processes inside see nothing but their own loopback and this end of the wire, which has the address `here`."""

    pid: int
    wire: str
    here: str
    inside: str

    def command(self, *command: str | Path) -> list[str]:
        """The command as it runs inside. It keeps the id of the process that is started with it."""
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *(str(part) for part in command)]

    def pids(self) -> list[int]:
        """Everybody inside, except for the one who holds the namespace open."""
        network = _network_of(self.pid)
        everybody = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in everybody if pid != self.pid and _network_of(pid) == network is not None]

    def reaches(self, port: int, *, host: str | None = None) -> bool:
        """Whether a connection from inside is made, as a rule to a port here."""
        probe = self.command(sys.executable, "-I", "-S", "-c", _PROBE, host or self.here, str(port), str(PROBE_S_MAX))
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0

    def partition(self, port: int) -> Evidence:
        """Pull the wire: nothing gets through in either direction, and nobody is told."""
        before = self.reaches(port)
        run("ip", "link", "set", self.wire, "down")
        return {"reached_before": before, "reached_during": self.reaches(port)}

    def heal(self, port: int) -> Evidence:
        run("ip", "link", "set", self.wire, "up")
        deadline = time.monotonic() + READY_S_MAX
        while not (reached := self.reaches(port)) and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return {"reached_after": reached}


@contextmanager
def network_namespace() -> Iterator[Namespace]:
    """Leaving kills who is still inside. If this process dies, the wire goes, and the namespace with the last who is inside."""
    with subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) as holder, Undo() as undo:
        _wait_for_namespace(holder.pid)
        namespace = _join(holder.pid, undo)
        try:
            yield namespace
        finally:
            for pid in namespace.pids():
                os.kill(pid, signal.SIGKILL)


def _wait_for_namespace(pid: int) -> None:
    deadline = time.monotonic() + READY_S_MAX
    while _network_of(pid) in (None, _network_of(os.getpid())):
        if time.monotonic() > deadline:
            raise TimeoutError("the network namespace was not made")
        time.sleep(POLL_S)


def _join(pid: int, undo: Undo) -> Namespace:
    network = _take_network(undo)
    wire, here, inside = f"dueline{network}", f"10.203.{network}.1", f"10.203.{network}.2"
    run("ip", "link", "set", f"{wire}i", "netns", str(pid))
    # While the wire is down nothing may leave by another way.
    undo.later("ip", "route", "del", "blackhole", f"10.203.{network}.0/24", "metric", GUARD_METRIC)
    run("ip", "route", "add", "blackhole", f"10.203.{network}.0/24", "metric", GUARD_METRIC)
    run("ip", "address", "add", f"{here}/24", "dev", wire)
    run("ip", "link", "set", wire, "up")
    namespace = Namespace(pid, wire, here, inside)
    run(*namespace.command("ip", "address", "add", f"{inside}/24", "dev", f"{wire}i"))
    run(*namespace.command("ip", "link", "set", f"{wire}i", "up"))
    run(*namespace.command("ip", "link", "set", "lo", "up"))
    return namespace


def _take_network(undo: Undo) -> int:
    """A number that nobody uses: the name of the wire says so, and only one can make it."""
    for network in random.sample(NETWORKS, k=len(NETWORKS)):
        try:
            run("ip", "link", "add", f"dueline{network}", "type", "veth", "peer", "name", f"dueline{network}i")
        except OSError:
            continue
        undo.later("ip", "link", "del", f"dueline{network}")
        return network
    raise OSError("every network is in use")


def _network_of(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None
