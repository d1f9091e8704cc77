"""A process without the API, asked from outside whether it lives, whether it is ready, and what it has counted."""

import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.sdk.client import PlainClient
from dueline.store.postgres.store import PostgresStore
from tests.support.dueline import DuelineProcess, processes, witness

WAIT_S_MAX = 20.0
POLL_S = 0.02


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def ask(port: int, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def wait_until(fulfilled: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not fulfilled():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)


def succeeded(port: int) -> float:
    samples = [
        sample for family in text_string_to_metric_families(ask(port, "/metrics")[1]) for sample in family.samples
    ]
    assert all(sample.name.endswith("_total") for sample in samples), "it tells of itself alone"
    return next(sample.value for sample in samples if sample.labels == {"outcome": "succeeded"})


async def enqueue(dsn: str, url: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    try:
        clock = SystemClock()
        keeper = Timekeeper(store, clock)
        await keeper.step()
        operations = Operations(store, lambda: keeper.time, SystemChance(), QuotaKeeper(store, clock))
        await operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=Execution(target=HttpTarget(url=url)))])
    finally:
        await store.close()


async def test_a_worker_is_ready_until_it_drains_and_lives_until_it_has(postgres_dsn: str, tmp_path: Path) -> None:
    port = free_port()
    with witness(tmp_path) as target, processes() as started:
        worker = DuelineProcess(tmp_path, "worker", "worker", "--health-port", str(port), db=postgres_dsn)
        started.append(worker)
        worker.wait_until_said(f"http://127.0.0.1:{port}/readyz")
        wait_until(lambda: ask(port, "/readyz")[0] == 200)
        assert ask(port, "/livez")[0] == 200
        assert ask(port, "/v1/jobs")[0] == 404
        await enqueue(postgres_dsn, f"{target.url}/ok")
        wait_until(lambda: succeeded(port) == 1)
        await enqueue(postgres_dsn, f"{target.url}/slow/2")
        wait_until(lambda: len(target.hits()) == 2)
        worker.ask_to_stop()
        wait_until(lambda: ask(port, "/readyz")[0] == 503)
        assert ask(port, "/livez")[0] == 200
        assert worker.stop() == 0
        with pytest.raises(ConnectionRefusedError):
            ask(port, "/livez")


def test_a_scheduler_tells_of_its_health_too(postgres_dsn: str, tmp_path: Path) -> None:
    port = free_port()
    with processes() as started:
        scheduler = DuelineProcess(tmp_path, "scheduler", "scheduler", "--health-port", str(port), db=postgres_dsn)
        started.append(scheduler)
        scheduler.wait_until_running()
        wait_until(lambda: ask(port, "/readyz")[0] == 200)
        assert scheduler.stop() == 0


def test_a_worker_of_a_server_is_ready_while_the_server_knows_it(tmp_path: Path) -> None:
    port = free_port()
    with witness(tmp_path) as target, processes() as started:
        db = str(tmp_path / "dueline.db")
        server = DuelineProcess(tmp_path, "server", "serve", "--port", "0", "--queues", "other", db=db)
        started.append(server)
        url = server.wait_until_running()
        assert url is not None
        worker = DuelineProcess(tmp_path, "worker", "worker", "--server", url, "--health-port", str(port), db=db)
        started.append(worker)
        worker.wait_until_running()
        wait_until(lambda: listens(port) and ask(port, "/readyz")[0] == 200)
        with PlainClient(url) as client:
            client.runs.enqueue({"target": {"url": f"{target.url}/ok"}})
        wait_until(lambda: succeeded(port) == 1)
        server.kill()
        wait_until(lambda: ask(port, "/readyz")[0] == 503)
        assert ask(port, "/livez")[0] == 200
        assert worker.stop() == 0


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
