"""The way to the database is gone without a word: Dueline's store notices in seconds, and listens again when it is back."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from proof.tools import namespaces, replica
from proof.tools.namespaces import Namespace, network_namespace
from proof.tools.replica import replicated
from proof.tools.root import run
from tests.proof.tools.writers import ROOT, writing
from tests.support.postgres import PostgresServer

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(namespaces.why_not() is not None, reason=str(namespaces.why_not())),
]

NOTICED_S_MAX = 20.0
"""The server itself takes eleven seconds, we take less; with room for a busy machine."""

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


@pytest.mark.skipif(replica.why_not() is not None, reason=str(replica.why_not()))
def test_a_primary_whose_machine_is_gone_is_left_for_its_standby() -> None:
    """Its address vanishes under open connections, as if somebody had pulled its plug: nobody resets anything."""
    with network_namespace() as namespace:
        lost = namespace.here.removesuffix("1") + "3"
        run("ip", "address", "add", f"{lost}/24", "dev", namespace.wire)
        with replicated(settings={"listen_addresses": f"127.0.0.1,{namespace.here},{lost}"}) as pair:
            pair.primary.create_database("dueline")
            dsn = f"postgresql://postgres@{lost}:{pair.primary.port},{namespace.here}:{pair.standby.port}/dueline"
            with writing("dueline", dsn, within=namespace.command()) as writer:
                writer.wait_for(20)
                run("ip", "address", "del", f"{lost}/24", "dev", namespace.wire)
                begun = time.monotonic()
                pair.fail_over()
                # Several, because some of those before were on their way to us.
                writer.wait_for(len(writer.acknowledged) + 200)
                assert time.monotonic() - begun < NOTICED_S_MAX
                promised = writer.hear_to_the_end()
            with psycopg.connect(pair.standby.dsn("dueline"), autocommit=True) as connection:
                found = {run_id.hex for (run_id,) in connection.execute("SELECT id FROM dueline.runs")}
            assert promised - found == set()
