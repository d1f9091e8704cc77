"""The final state as the product's API tells it, and as the tables count it, written beside the logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from proof import records
from proof.books import books_of
from proof.client import Client
from proof.records import Answered, Metric, write_lines

PAGE_ROWS = 500
ONE_TIME = ("once-", "burst-")
"""Markers of jobs that have one occurrence, which their run tells as well."""


def dump(clients: Sequence[Client], health_urls: Mapping[str, str], folder: Path, *, db: str, over_at: str) -> None:
    """Jobs and runs as each client's tenant sees them, and the occurrences before `over_at` of jobs that recur."""
    write_lines(folder / records.BOOKS, [books_of(db)])
    first = clients[0]
    write_lines(folder / records.JOBS, chain.from_iterable(_all(client, "/v1/jobs") for client in clients))
    write_lines(folder / records.RUNS, chain.from_iterable(_all(client, "/v1/runs") for client in clients))
    write_lines(
        folder / records.DEAD_LETTERS, chain.from_iterable(_all(client, "/v1/dead-letters") for client in clients)
    )
    write_lines(folder / records.QUEUES, _all(first, "/v1/queues", paged=False))
    write_lines(folder / records.WORKERS, _all(first, "/v1/workers", paged=False))
    write_lines(
        folder / records.OCCURRENCES,
        (
            one | {"job_id": job_id}
            for client in clients
            for marker, job_id in client.job_ids.items()
            if not marker.startswith(ONE_TIME)
            for one in _all(client, f"/v1/jobs/{job_id}/occurrences", to=over_at)
        ),
    )
    write_lines(folder / records.METRICS, _metrics(first, health_urls))


def live_runs(client: Client) -> int | None:
    """How many there are; None while that cannot be told."""
    answered, _, told = client.ask("GET", "/v1/queues")
    if answered is not Answered.ACKNOWLEDGED:
        return None
    return sum(int(queue[state]) for queue in told["items"] for state in ("ready", "running", "held", "waiting"))


def _all(client: Client, path: str, *, paged: bool = True, **parameters: Any) -> Iterator[dict[str, Any]]:
    """Every item of a list, page by page. At rest nothing moves between the pages."""
    wanted = {"limit": PAGE_ROWS, **parameters} if paged else parameters
    while True:
        answered, status, told = client.ask("GET", f"{path}?{urlencode(wanted)}")
        if status == 404:
            return
        assert answered is Answered.ACKNOWLEDGED, f"{path} answers {status}: {told}"
        yield from told["items"]
        if not told.get("next_cursor"):
            return
        wanted["cursor"] = told["next_cursor"]


def _metrics(client: Client, health_urls: Mapping[str, str]) -> Iterator[Metric]:
    for process, url in health_urls.items():
        _, _, told = client.ask_at(url, "GET", "/metrics")
        for line in (told or b"").decode().splitlines():
            if line.startswith("dueline_"):
                name, _, value = line.rpartition(" ")
                yield Metric(process=process, name=name, value=float(value))
