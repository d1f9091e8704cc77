"""Looks at the processes and at the database every ten seconds, from outside."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import msgspec

from proof.ground import DATABASE
from proof.scene import Scene
from proof.soak.records import Sample
from tests.support.postgres import PostgresFailed
from tests.support.processes import children_of, cpu_s, cpu_with_children_s, resident_bytes

EVERY_S = 10.0
PATIENCE_S = 5.0
"""For a database that may be away at the moment: then the sample tells nothing of it."""

_AWAY = (
    OSError,
    TimeoutError,
    PostgresFailed,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # That is what it says of a connection that ends in the middle of a statement.
)

_RELATIONS = """
SELECT
    CASE c.relkind WHEN 'i' THEN 'index ' ELSE 'table ' END || c.relname AS name, pg_table_size(c.oid) AS bytes,
    s.n_live_tup AS live, s.n_dead_tup AS dead
FROM pg_class AS c
LEFT JOIN pg_stat_user_tables AS s ON s.relid = c.oid
WHERE c.relnamespace = 'dueline'::regnamespace AND c.relkind IN ('r', 'i')
"""
_CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
_WAITING = """
SELECT
    count(*) AS live, count(*) FILTER (WHERE due_ms < dueline.now_ms()) AS overdue,
    coalesce(dueline.now_ms() - min(due_ms), 0) / 1000.0 AS oldest_s
FROM dueline.runs
"""


class Sampler(threading.Thread):
    def __init__(self, scene: Scene, log: Path) -> None:
        super().__init__(name="sampler", daemon=True)
        self._scene = scene
        self._log = log
        self._over = threading.Event()
        self._machine = (0, 0, 0)
        self._spent: dict[str, tuple[float, float]] = {}
        self._is_whole = False

    def run(self) -> None:
        with self._log.open("ab") as log:
            while not self._over.wait(EVERY_S):
                sample = Sample(time.time(), self.sample())
                log.write(msgspec.json.encode(sample) + b"\n")
                log.flush()
        self._is_whole = True

    def stop(self) -> None:
        """Raises if it has not looked until now: of what nobody saw nothing could grow."""
        self._over.set()
        self.join()
        assert self._is_whole, "the sampler ended before the soak"

    def sample(self) -> dict[str, float]:
        values = dict(self._of_processes())
        values |= {"jobs all": float(len(self._scene.client.job_ids)), **self._of_machine()}
        try:
            postmaster = self._scene.database.pid
            values["memory PostgreSQL"] = private_bytes(postmaster)
            values |= self._cores("PostgreSQL", cpu_with_children_s(postmaster))
            values |= asyncio.run(of_database(self._scene.database.dsn(DATABASE)))
        except _AWAY:
            pass
        return values

    def _of_processes(self) -> Iterator[tuple[str, float]]:
        for process in self._scene.fleet.living():
            try:
                yield f"memory {process.name}", float(resident_bytes(process.pid))
                yield f"descriptors {process.name}", float(len(list(Path(f"/proc/{process.pid}/fd").iterdir())))
                yield from self._cores(process.name, cpu_s(process.pid)).items()
            except (OSError, ValueError):
                # It was killed in between.
                continue
        yield from self._cores("target", cpu_s(self._scene.target.pid)).items()

    def _cores(self, name: str, spent_s: float) -> dict[str, float]:
        """How many cores somebody used since the last sample. One who began anew has used less than before, and is not told."""
        now_s = time.monotonic()
        before_s, had_spent_s = self._spent.get(name, (now_s, spent_s))
        self._spent[name] = (now_s, spent_s)
        return {f"cores {name}": (spent_s - had_spent_s) / (now_s - before_s)} if had_spent_s < spent_s else {}

    def _of_machine(self) -> dict[str, float]:
        """The parts of its time since the last sample in which it had nothing to do, and in which it was somebody else's."""
        spent = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        now = (spent[3] + spent[4], spent[7], sum(spent))
        idle, stolen, total = (after - before for after, before in zip(now, self._machine, strict=True))
        self._machine = now
        return {"idle machine": idle / max(1, total), "stolen machine": stolen / max(1, total)}


def private_bytes(postmaster: int) -> float:
    """What the server's processes have each for itself: the memory that they share is not anonymous to them."""
    return float(sum(map(_anonymous_bytes, [postmaster, *children_of(postmaster)])))


def _anonymous_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:"))


async def of_database(dsn: str) -> dict[str, float]:
    """Sizes and rows of every relation, connections, and what waits."""
    connection = await asyncpg.connect(dsn, timeout=PATIENCE_S, command_timeout=PATIENCE_S)
    try:
        values = {"connections all": float(await connection.fetchval(_CONNECTIONS))}
        (waiting,) = await connection.fetch(_WAITING)
        values |= {f"{name} runs": float(waiting[name]) for name in ("live", "overdue", "oldest_s")}
        for row in await connection.fetch(_RELATIONS):
            values[row["name"]] = float(row["bytes"])
            if row["live"] is not None:
                relation = row["name"].removeprefix("table ")
                values |= {f"alive {relation}": float(row["live"]), f"dead {relation}": float(row["dead"])}
        return values
    finally:
        await connection.close()
