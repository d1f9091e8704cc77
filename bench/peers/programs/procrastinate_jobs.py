"""Procrastinate: defers in batches, and works with as many jobs at once as it has connections for."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import procrastinate
from tally import Tally, asked, wait_for_go

BULK = 1_000


def an_app(asked: dict[str, Any], tally: Tally | None) -> procrastinate.App:
    size = asked["connections"]
    app = procrastinate.App(
        connector=procrastinate.PsycopgConnector(conninfo=asked["dsn"], min_size=size, max_size=size)
    )

    async def count(**arguments: Any) -> None:
        assert tally is not None
        assert arguments.get("cents", 500) == 500
        tally.started()

    app.task(name="count", queue="bench")(count)
    return app


async def install(asked: dict[str, Any]) -> None:
    async with an_app(asked, None).open_async() as app:
        await app.schema_manager.apply_schema_async()


async def fill(asked: dict[str, Any]) -> None:
    async with an_app(asked, None).open_async() as app:
        due = None if asked["due_s"] is None else datetime.fromtimestamp(asked["due_s"], UTC)
        count = app.tasks["count"].configure(schedule_at=due)
        for first in range(0, asked["count"], BULK):
            size = min(BULK, asked["count"] - first)
            await count.batch_defer_async(*([asked["arguments"] or {}] * size))


async def work(asked: dict[str, Any]) -> None:
    tally = Tally(asked["tally"], keep=asked["keep"])
    async with an_app(asked, tally).open_async() as app:
        wait_for_go(tally)
        await app.run_worker_async(
            queues=["bench"],
            concurrency=asked["concurrency"],
            fetch_job_polling_interval=asked["poll_s"],
            delete_jobs=asked["delete_jobs"],
            install_signal_handlers=False,
        )


if __name__ == "__main__":
    asyncio.run({"install": install, "fill": fill, "work": work}[asked()["do"]](asked()))
