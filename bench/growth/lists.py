"""Those who look at jobs: pages of them, and a scheduler that starts beside them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from bench.lines import entropy
from bench.timing.installation import running
from bench.timing.lags import quantile
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import new_job_id
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, TaskTarget
from dueline.domain.planning import Position
from dueline.domain.states import JobState
from dueline.store.names import Names
from dueline.store.protocol import Store
from dueline.store.shapes import JobFilter, NewJob
from tests.support.processes import resident_bytes

PAGE_MS_MOST = 50.0
"""What anybody waits for a page without noticing."""
_RARE = 50
"""Jobs that differ from all others, and are older: whoever looks for them finds them last."""
_ASKED = 20
_PATIENCE_S = 5.0
_PAGE = 50
_MB = 1_000_000

_ALL = JobFilter(tenant=DEFAULT_TENANT)
_FILTERS = {
    "page of jobs": _ALL,
    "page by queue": msgspec.structs.replace(_ALL, queue="rare"),
    "page by tag": msgspec.structs.replace(_ALL, tag="rare"),
    "page by type": msgspec.structs.replace(_ALL, target_type="task"),
    "page by state": msgspec.structs.replace(_ALL, state=JobState.PAUSED),
}
_NAMES = {"page by name": Names("rare-"), "page by names of very many": Names("o")}


async def write_rare(store: Store) -> None:
    now_ms = await store.now_ms()
    execution = Execution(target=TaskTarget(task="note"))
    await store.create_jobs(
        [
            NewJob(
                id=new_job_id(now_ms, entropy()),
                tenant=DEFAULT_TENANT,
                definition=Definition(name=f"rare-{number}", execution=execution, queue="rare", tags=("rare",)),
                position=Position(),
            )
            for number in range(_RARE)
        ]
    )


async def ask_for_jobs(store: Store) -> dict[str, float]:
    """The first page of all jobs, and of those that are few."""
    found = {}
    for name, match in _FILTERS.items():
        found[f"{name}, ms"] = await late_ms(partial(store.jobs_page, match, before=None, limit=_PAGE))
    for name, names in _NAMES.items():
        found[f"{name}, ms"] = await late_ms(partial(store.jobs_named, _ALL, names, limit=_PAGE))
    return found


async def late_ms(ask: Callable[[], Awaitable[Any]]) -> float:
    """The 95th percentile of one question; one that takes long is not asked often, and one that the store gives up took as long as that."""
    took_ms: list[float] = []
    while len(took_ms) < _ASKED and sum(took_ms) < _PATIENCE_S * 1000:
        began_s = time.perf_counter()
        with suppress(StoreUnavailable):
            await ask()
        took_ms.append((time.perf_counter() - began_s) * 1000)
    return quantile(took_ms, 0.95)


async def scheduler_mb(dsn: str, *, settle_s: float) -> float:
    """What a scheduler has had at most when it has looked at everything."""
    with TemporaryDirectory(prefix="dueline-bench-") as folder, running(Path(folder), dsn) as start:
        scheduler = start("scheduler")
        await asyncio.sleep(settle_s)
        return resident_bytes(scheduler.pid, peak=True) / _MB
