"""The way to the database is gone without a word: Dueline's store notices in seconds, and listens again when it is back."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from dueline.store.postgres.reaching import SILENCE_S
from proof.tools import namespaces
from proof.tools.namespaces import Namespace, network_namespace
from tests.support.postgres import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(namespaces.why_not() is not None, reason=str(namespaces.why_not())),
]

ROOT = Path(__file__).parents[3]
NOTICED_S_MAX = SILENCE_S + 8.0
"""With the time to reconnect, and room for a busy machine."""

LISTENS_S_MAX = 60.0


@contextmanager
def listening(namespace: Namespace, dsn: str) -> Iterator[subprocess.Popen[str]]:
    """A process inside that says what its store hears."""
    program = (
        "import asyncio\n"
        "from dueline.store.postgres.store import PostgresStore\n"
        "async def main():\n"
        f"    store = PostgresStore({dsn!r})\n"
        "    await store.open()\n"
        "    store.listen(lambda topic: print(topic, flush=True))\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    command = namespace.command(sys.executable, "-c", program)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as inside:
        ending = threading.Timer(LISTENS_S_MAX, inside.kill)
        ending.start()
        try:
            yield inside
        finally:
            ending.cancel()
            inside.kill()


def wait_for_topic(inside: subprocess.Popen[str], topic: str) -> None:
    assert inside.stdout is not None
    while (heard := inside.stdout.readline().strip()) != topic:
        assert heard, "the process inside has ended"


def test_who_listens_hears_again_after_a_long_partition() -> None:
    """The server has given the connection up by then, and could not say so."""
    with network_namespace() as namespace:
        settings = {"listen_addresses": f"127.0.0.1,{namespace.here}"}
        with PostgresServer(settings=settings) as server:
            dsn = server.dsn().replace("127.0.0.1", namespace.here)
            with listening(namespace, dsn) as inside, psycopg.connect(server.dsn(), autocommit=True) as outside:
                wait_for_topic(inside, "cancel")
                assert namespace.partition(server.port) == {"reached_before": True, "reached_during": False}
                deadline = time.monotonic() + NOTICED_S_MAX
                while outside.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'dueline'").fetchone():
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
                assert namespace.heal(server.port) == {"reached_after": True}
                begun = time.monotonic()
                # What may have been missed is told first.
                wait_for_topic(inside, "cancel")
                outside.execute("SELECT pg_notify('dueline', 'anything')")
                wait_for_topic(inside, "anything")
                assert time.monotonic() - begun < NOTICED_S_MAX
