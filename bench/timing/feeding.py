"""python -m bench.timing.feeding DSN FOLDER WAITING: keep as many runs waiting as there are, until nothing more can be read.

A process of its own: whoever measures beside it does not limit how fast it writes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import uvloop

from bench.lines import a_run, fill
from bench.programs import say_ready_and_wait
from bench.timing.lags import starts_count
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Execution, TaskTarget
from dueline.domain.run import NewRun
from dueline.store.postgres.store import PostgresStore

_EXECUTION = Execution(target=TaskTarget(task="note", args={"customer": "c-123", "cents": 500}))
_SPEC = msgspec.json.encode(_EXECUTION).decode()
_TOP_UP = 5_000
_POLL_S = 0.02


def a_task(now_ms: int, _number: int) -> NewRun:
    """A run of the task of `bench.timing.app`."""
    run = a_run(now_ms, tenant=DEFAULT_TENANT, queue=DEFAULT_QUEUE, job_id=None)
    return msgspec.structs.replace(run, spec=_SPEC, lane=_EXECUTION.lane)


async def _feed(dsn: str, folder: Path, waiting: int) -> None:
    store = PostgresStore(dsn)
    await store.open()
    try:
        say_ready_and_wait()
        written = waiting
        ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        while not ended.done():
            if written - starts_count(folder) <= waiting - _TOP_UP:
                await fill(store, _TOP_UP, a_task)
                written += _TOP_UP
            else:
                await asyncio.sleep(_POLL_S)
    finally:
        await store.close()


if __name__ == "__main__":
    uvloop.run(_feed(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
