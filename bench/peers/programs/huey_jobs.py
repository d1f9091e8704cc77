"""Huey on SQLite: enqueues one by one, as it offers nothing else, and consumes in this process."""

from __future__ import annotations

from typing import Any

from huey import SqliteHuey
from tally import Tally, asked, wait_for_go


def a_huey(asked: dict[str, Any], tally: Tally | None) -> tuple[Any, Any]:
    # Its own defaults: journal mode WAL, and SQLite's own `synchronous`, which is FULL.
    huey = SqliteHuey("bench", filename=asked["file"], results=False)

    def count() -> None:
        assert tally is not None
        tally.started()

    return huey, huey.task()(count)


def fill(asked: dict[str, Any]) -> None:
    _, count = a_huey(asked, None)
    for _ in range(asked["count"]):
        count()


def work(asked: dict[str, Any]) -> None:
    tally = Tally(asked["tally"])
    huey, _ = a_huey(asked, tally)
    consumer = huey.create_consumer(
        workers=asked["workers"],
        worker_type=asked["worker_type"],
        periodic=False,
        initial_delay=0.001,
        backoff=1.0,
        max_delay=0.001,
        check_worker_health=False,
    )
    wait_for_go(tally)
    consumer.run()


if __name__ == "__main__":
    {"fill": fill, "work": work}[asked()["do"]](asked())
