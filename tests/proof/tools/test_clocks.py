"""The wall clock of a process jumps while it runs, its monotonic one does not, and nobody else notices."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from proof.tools import clocks
from proof.tools.clocks import JumpingClock, jumping_clock, offset_told
from tests.faults.scenes import call, wait_for
from tests.support.dueline import DuelineProcess, processes, witness
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.skipif(clocks.why_not() is not None, reason=str(clocks.why_not()))

# Asked by a line, it answers its wall clock by three ways and its monotonic one; uvloop's, or the plain loop's.
ANSWERING = """
import asyncio, datetime, sys, time
async def main():
    for line in sys.stdin:
        await asyncio.sleep(0.01)
        now = datetime.datetime.now(datetime.UTC).timestamp()
        print(time.time(), now, time.clock_gettime(time.CLOCK_REALTIME), time.monotonic(), asyncio.get_running_loop().time(), flush=True)
if sys.argv[1] == "uvloop":
    import uvloop
    uvloop.run(main())
else:
    asyncio.run(main())
"""
TOLERANCE_S = 2.0


@pytest.fixture
def clock() -> Iterator[JumpingClock]:
    with jumping_clock() as clock:
        yield clock


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_python_process_sees_the_jumps(clock: JumpingClock, loop: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ANSWERING, loop],
        env=os.environ | clock.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def differences() -> list[float]:
            """Of its wall clocks and its monotonic ones from ours."""
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            *walls, monotonic, of_loop = (float(word) for word in process.stdout.readline().split())
            ours = [time.time()] * 3 + [time.monotonic()] * 2
            return [theirs - our for theirs, our in zip([*walls, monotonic, of_loop], ours, strict=True)]

        none = pytest.approx([0.0] * 5, abs=TOLERANCE_S)
        assert differences() == none
        assert clock.jump(3600) == {"jumped_s": 3600, "offset_s": 3600}
        assert differences() == pytest.approx([3600] * 3 + [0.0] * 2, abs=TOLERANCE_S)
        clock.jump(-7200.5)
        assert differences() == pytest.approx([-3600.5] * 3 + [0.0] * 2, abs=TOLERANCE_S)
        clock.heal()
        assert differences() == none


def test_postgres_sees_the_jumps(clock: JumpingClock) -> None:
    with (
        PostgresServer(environment=clock.environment) as server,
        psycopg.connect(server.dsn(), autocommit=True) as connection,
    ):

        def difference() -> float:
            row = connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()
            assert row is not None
            return float(row[0]) - time.time()

        assert difference() == pytest.approx(0, abs=TOLERANCE_S)
        clock.jump(-86_400)
        assert difference() == pytest.approx(-86_400, abs=TOLERANCE_S)
        clock.heal()
        assert difference() == pytest.approx(0, abs=TOLERANCE_S)


@pytest.mark.long
def test_a_server_of_ours_tells_of_the_jump_and_goes_on(
    clock: JumpingClock, tmp_path: Path, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock of PostgreSQL alone counts."""
    for name, value in clock.environment.items():
        monkeypatch.setenv(name, value)
    with witness(tmp_path) as target, processes() as fleet:
        serve = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=postgres_dsn)
        fleet.append(serve)
        url = serve.wait_until_running()
        assert url is not None
        job = {"schedule": {"cron": "* * * * * *"}, "target": {"type": "http", "url": f"{target.url}/ok"}}
        assert call(url, "POST", "/v1/jobs", job)[0] == 201
        for jump_s in (7200, -14_400):
            offset_s = clock.jump(jump_s)["offset_s"]
            seen = len(target.hits())
            wait_for(lambda seen=seen: len(target.hits()) >= seen + 3, within_s=20)  # type: ignore[misc]
            assert offset_told(f"{url}/livez")["told_offset_s"] == pytest.approx(offset_s, abs=TOLERANCE_S)
        scheduled = [hit["dueline-scheduled-at"] for hit in target.hits()]
        assert len(scheduled) == len(set(scheduled))
        assert serve.stop() == 0


def test_nothing_is_left_and_our_own_clock_never_moved() -> None:
    before = time.time() - time.monotonic()
    with jumping_clock() as clock:
        clock.jump(1000)
        folder = clock.folder
    assert not folder.exists()
    assert time.time() - time.monotonic() == pytest.approx(before, abs=TOLERANCE_S)
