"""The database goes away under a running server: callers are told, nothing is lost, and it recovers by itself."""

from __future__ import annotations

import time
from pathlib import Path

from tests.faults.scenes import call, wait_for
from tests.support.dueline import DuelineProcess, processes, witness
from tests.support.postgres import PostgresServer

RECOVERY_S_MAX = 30.0
"""From the database's return to the next job that runs: seconds, with room for a busy machine."""


def test_a_database_that_comes_back_is_used_again(tmp_path: Path) -> None:
    with PostgresServer() as server, witness(tmp_path) as target, processes() as fleet:
        server.create_database("dueline")
        serve = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=server.dsn("dueline"))
        fleet.append(serve)
        url = serve.wait_until_running()
        assert url is not None
        job = {"schedule": {"cron": "* * * * * *"}, "target": {"type": "http", "url": f"{target.url}/ok"}}
        assert call(url, "POST", "/v1/jobs", job)[0] == 201
        wait_for(lambda: len(target.hits()) >= 2, within_s=10)
        server.crash()
        status, problem = call(url, "POST", "/v1/jobs", job)
        assert status == 503
        assert problem["status"] == 503
        assert call(url, "GET", "/readyz")[0] == 503
        assert call(url, "GET", "/livez")[0] == 200
        time.sleep(3)
        server.start()
        seen = len(target.hits())
        wait_for(lambda: len(target.hits()) > seen + 1, within_s=RECOVERY_S_MAX)
        assert call(url, "POST", "/v1/jobs", job)[0] == 201
        assert call(url, "GET", "/readyz")[0] == 200
        deliveries = [(hit["dueline-run"], hit["dueline-token"]) for hit in target.hits()]
        assert len(deliveries) == len(set(deliveries))
        assert serve.stop() == 0


def test_a_server_waits_for_a_database_that_is_not_there_yet(tmp_path: Path) -> None:
    with PostgresServer() as server, processes() as fleet:
        server.create_database("dueline")
        server.stop()
        serve = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=server.dsn("dueline"))
        fleet.append(serve)
        wait_for(lambda: serve.counted("waiting for the store") == 1, within_s=10)
        server.start()
        assert serve.wait_until_running() is not None
        assert serve.stop() == 0
