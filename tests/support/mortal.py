"""Dueline that dies as by `kill -9` when a request with a key has been carried out, and before anybody hears of it."""

from __future__ import annotations

import os
import signal

from dueline.cli.main import main
from dueline.domain.requests import KeptAnswer, RequestKey
from dueline.store.postgres.store import PostgresStore
from dueline.store.sqlite.store import SqliteStore


async def die(_self: object, _key: RequestKey, _answer: KeptAnswer) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for store in (SqliteStore, PostgresStore):
        store.keep_answer = die  # type: ignore[method-assign,assignment]
    main()
