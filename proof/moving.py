"""python -m proof.moving: a server that fires jobs is moved to PostgreSQL by `dueline db copy`, and nothing is lost or done twice.

`JOBS` (1,000,000) and `RATE` (200 a second) say how many recurring jobs there are, and how many of them come due in a second. Beside them a
client asks for single runs, as fast as it is answered. What was called is known from the target's own log, and what should have been from
the arithmetic of the schedules. The last line is all of it as JSON.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from dueline import Client
from dueline.domain.errors import DuelineError
from dueline.domain.ids import job_text, new_job_id
from dueline.domain.instants import parse_instant
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy, Position
from dueline.domain.schedule import Every
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.shapes import NewJob
from dueline.store.sqlite.store import SqliteStore
from tests.support.dueline import DuelineProcess, Witness, processes, witness
from tests.support.postgres import PostgresServer

JOBS = 1_000_000
RATE = 200.0
WRITE_STOP_S_MAX = 5.0
BATCH = 1_000
BEFORE_S = 5.0
"""How long the old server works before the copy begins, and the new one after it."""
LEAD_S = 3.0
CATCH_UP_S = 120.0
DATABASE = "moved"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    jobs: int
    expected: int
    """Occurrences and single runs that had to be called."""
    lost: int
    doubled: int
    """Calls that were made again, and were not under way when writes stopped."""
    under_way: int
    copy_s: float
    write_stop_s: float

    @property
    def is_green(self) -> bool:
        return not self.lost and not self.doubled and self.write_stop_s < WRITE_STOP_S_MAX


class Feeder:
    """Asks for single runs one after the other until the server is gone, and remembers those that it took."""

    def __init__(self, url: str, target: str) -> None:
        self.taken: list[str] = []
        self._client = Client(url)
        self._target = target
        self._thread = threading.Thread(target=self._feed)
        self._thread.start()

    def wait_until_gone(self) -> None:
        self._thread.join()
        self._client.close()

    def _feed(self) -> None:
        while True:
            try:
                self.taken.append(self._client.runs.enqueue(url=self._target).id)
            except DuelineError:
                return


class Calendar:
    """When each job is due: one of them after the other, then again."""

    def __init__(self, *, jobs: int, rate: float) -> None:
        self.period_ms = max(1_000, int(jobs / rate * 1000))
        self._chance = SystemChance()
        self._jobs = jobs
        self.due_ms: dict[str, int] = {}
        """When each was due first, by its id."""

    async def write(self, path: Path, url: str) -> None:
        store = SqliteStore(path, SystemClock())
        await store.open()
        try:
            await store.migrate()
            # Writing them takes a while: the first are due when the last are written.
            first_ms = await store.now_ms() + int((LEAD_S + self._jobs * 60e-6) * 1000)
            for start in range(0, self._jobs, BATCH):
                batch = [self._job(number, first_ms, url) for number in range(start, min(start + BATCH, self._jobs))]
                assert None not in await store.create_jobs(batch)
        finally:
            await store.close()

    def expected(self, until_ms: int) -> set[tuple[str, int]]:
        """Every occurrence up to an instant."""
        return {
            (job, at_ms) for job, due_ms in self.due_ms.items() for at_ms in range(due_ms, until_ms + 1, self.period_ms)
        }

    def _job(self, number: int, first_ms: int, url: str) -> NewJob:
        due_ms = first_ms + number * self.period_ms // self._jobs
        job_id = new_job_id(first_ms, self._chance.entropy())
        self.due_ms[job_text(job_id)] = due_ms
        definition = Definition(
            name=f"job-{number}",
            execution=Execution(target=HttpTarget(url=url)),
            schedule=Every(period_ms=self.period_ms, anchor_ms=due_ms),
            misfire=Misfire(policy=MisfirePolicy.FIRE_ALL),
            overlap=Overlap.ALLOW,
            tags=(f"shelf-{number % 100}",),
        )
        position = Position(next_ms=due_ms, due_ms=due_ms)
        return NewJob(id=job_id, tenant=DEFAULT_TENANT, definition=definition, position=position)


def play(folder: Path, dsn: str, *, jobs: int, rate: float) -> Verdict:
    source, calendar = folder / "old.db", Calendar(jobs=jobs, rate=rate)
    with witness(folder) as target, processes() as fleet:
        asyncio.run(calendar.write(source, f"{target.url}/ok"))
        old = DuelineProcess(folder, "old", "serve", "--port", "0", db=str(source))
        fleet.append(old)
        url = old.wait_until_running()
        assert url is not None
        feeder = Feeder(url, f"{target.url}/ok")
        _wait_for_calls(target, int(BEFORE_S * rate))
        began_s = time.monotonic()
        report = _copy(source, dsn)
        copy_s = time.monotonic() - began_s
        assert old.exit_code() == 4, "a server whose store was moved ends by itself"
        feeder.wait_until_gone()
        new = DuelineProcess(folder, "new", "serve", "--port", "0", db=dsn)
        fleet.append(new)
        new.wait_until_running()
        _wait_for_calls(target, len(target.hits()) + int(BEFORE_S * rate))
        until_ms = int(time.time() * 1000)
        lost = _lost(target, calendar.expected(until_ms), set(feeder.taken))
        assert new.stop() == 0
        doubled = sum(count - 1 for count in target.hits_per_run().values())
    return Verdict(
        jobs=jobs,
        expected=len(calendar.expected(until_ms)) + len(feeder.taken),
        lost=lost,
        doubled=max(0, doubled - report["under_way"]),
        under_way=report["under_way"],
        copy_s=copy_s,
        write_stop_s=report["write_stop_s"],
    )


def _copy(source: Path, dsn: str) -> Mapping[str, Any]:
    options = ["--from", str(source), "--to", dsn, "--yes", "--output", "json"]
    copied = subprocess.run(
        [sys.executable, "-m", "dueline", "db", "copy", *options], stdout=subprocess.PIPE, check=True
    )
    report: dict[str, Any] = msgspec.json.decode(copied.stdout)
    return report


def _wait_for_calls(target: Witness, count: int) -> None:
    deadline_s = time.monotonic() + CATCH_UP_S
    while len(target.hits()) < count:
        assert time.monotonic() < deadline_s, "nothing is called"
        time.sleep(0.2)


def _lost(target: Witness, occurrences: set[tuple[str, int]], runs: set[str]) -> int:
    """How many of all these were not called, once there was time to."""
    deadline_s = time.monotonic() + CATCH_UP_S
    while True:
        hits = target.hits()
        called = {
            (hit["dueline-job"], parse_instant(hit["dueline-scheduled-at"], field="hit"))
            for hit in hits
            if hit.get("dueline-job")
        }
        lost = len(occurrences - called) + len(runs - {hit["dueline-run"] for hit in hits})
        if not lost or time.monotonic() > deadline_s:
            return lost
        time.sleep(0.5)


def main() -> int:
    jobs, rate = int(os.environ.get("JOBS") or JOBS), float(os.environ.get("RATE") or RATE)
    with tempfile.TemporaryDirectory() as folder, PostgresServer(durable=True) as server:
        server.create_database(DATABASE)
        verdict = play(Path(folder), server.dsn(DATABASE), jobs=jobs, rate=rate)
    print(msgspec.json.encode({"green": verdict.is_green, **msgspec.structs.asdict(verdict)}).decode())
    return 0 if verdict.is_green else 1


if __name__ == "__main__":
    sys.exit(main())
