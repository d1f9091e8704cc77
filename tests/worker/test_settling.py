"""The wait at a worker's end."""

from __future__ import annotations

import asyncio

from dueline.worker.settling import settle


async def test_a_wait_that_runs_out_of_time_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()

    await settle(lambda: 1, lambda: 0, asyncio.Event(), asyncio.Event(), wait_s=0.01)
    await asyncio.sleep(0)

    assert asyncio.all_tasks() == before
