"""python -m bench.growth: find out, show, and write `growth.json` and `growth.svg` in `bench/results`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol

import asyncpg

from bench.databases import close_shared, shared_server
from bench.growth import connections, needs, subjects
from bench.growth.curves import Growth, show, write
from bench.growth.picture import draw


class Subject(Protocol):
    def __call__(self, *, quick: bool) -> Awaitable[Growth]: ...


SUBJECTS: dict[str, Subject] = {
    "jobs": subjects.jobs,
    "backlog": subjects.backlog,
    "history": subjects.history,
    "tenants": subjects.tenants,
    "workers": connections.workers,
    "schedules": subjects.schedules,
}
NEEDS = "needs"
_STEADY = (
    # Tables are vacuumed by hand, at the same moments for all that is compared.
    "ALTER SYSTEM SET autovacuum = off",
    # A page that is written for the first time after a checkpoint is logged whole: there is one before all rounds, and none between them.
    "ALTER SYSTEM SET checkpoint_timeout = '1h'",
    "ALTER SYSTEM SET max_wal_size = '16GB'",
)
# A quarter of the memory, as PostgreSQL's manual asks for. By default it is 128 MB, and one database would drive the others out of it.
_BUFFERS = "SELECT format('ALTER SYSTEM SET shared_buffers = %L', $1::text)"


def main() -> int:
    names = [name for name in os.environ.get("ONLY", "").split(",") if name] or [*SUBJECTS, NEEDS]
    unknown = set(names) - SUBJECTS.keys() - {NEEDS}
    if unknown:
        known = ", ".join([*SUBJECTS, NEEDS])
        print(f"nothing is known of {', '.join(sorted(unknown))}; there are {known}", file=sys.stderr)
        return 2
    quick = os.environ.get("QUICK", "") not in ("", "0")
    grown: list[Growth] = []
    needed: dict[str, float] = {}
    try:
        asyncio.run(_steady())
        for name in names:
            if name == NEEDS:
                needed = asyncio.run(needs.measure(quick=quick))
                needs.show(needed)
            else:
                grown.append(asyncio.run(_grow(SUBJECTS[name], quick=quick)))
                show(grown[-1])
    finally:
        close_shared()
    write(grown, needed, quick=quick)
    draw(grown)
    # One short round decides nothing.
    return 0 if quick or all(curve.holds for growth in grown for curve in growth.curves) else 1


async def _grow(subject: Callable[..., Awaitable[Growth]], *, quick: bool) -> Growth:
    return await subject(quick=quick)


async def _steady() -> None:
    """The same server for all that follows."""
    buffers_kb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4 // 1024
    connection = await asyncpg.connect(shared_server().dsn())
    try:
        for statement in _STEADY:
            await connection.execute(statement)
        await connection.execute(await connection.fetchval(_BUFFERS, f"{buffers_kb}kB"))
    finally:
        await connection.close()
    shared_server().stop()
    shared_server().start()


sys.exit(main())
