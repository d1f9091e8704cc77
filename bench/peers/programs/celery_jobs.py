"""Celery on Redis: sends with one connection, and works with what is not needed for a no-op turned off."""

from __future__ import annotations

from typing import Any

import celery
from celery.signals import worker_ready
from tally import Tally, asked, wait_for_go


def an_app(asked: dict[str, Any], tally: Tally | None) -> tuple[celery.Celery, Any]:
    app = celery.Celery("bench", broker=asked["broker"])
    app.conf.update(
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        worker_prefetch_multiplier=asked["prefetch"],
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        result_backend=None,
    )

    def count() -> None:
        assert tally is not None
        tally.started()

    return app, app.task(name="count", ignore_result=True)(count)


def fill(asked: dict[str, Any]) -> None:
    app, count = an_app(asked, None)
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(asked["count"]):
            count.apply_async(producer=producer)


def work(asked: dict[str, Any]) -> None:
    tally = Tally(asked["tally"])
    app, _ = an_app(asked, tally)
    worker_ready.connect(lambda **_: wait_for_go(tally), weak=False)
    arguments = ["worker", f"--pool={asked['pool']}", f"--concurrency={asked['concurrency']}", "--loglevel=ERROR"]
    app.worker_main([*arguments, "--without-gossip", "--without-mingle", "--without-heartbeat"])


if __name__ == "__main__":
    {"fill": fill, "work": work}[asked()["do"]](asked())
