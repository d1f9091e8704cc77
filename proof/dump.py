"""The final state as the product's API tells it, written beside the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from proof import records
from proof.client import Client
from proof.records import Answered, Metric, write_lines

PAGE_ROWS = 500


def dump(
    client: Client, recurring: Iterable[str], health_urls: Mapping[str, str], folder: Path, *, over_at: str
) -> None:
    """`recurring` are the ids of the jobs whose occurrences before `over_at` are asked for, one by one."""
    write_lines(folder / records.JOBS, _all(client, "/v1/jobs"))
    write_lines(folder / records.RUNS, _all(client, "/v1/runs"))
    write_lines(folder / records.DEAD_LETTERS, _all(client, "/v1/dead-letters"))
    write_lines(folder / records.QUEUES, _all(client, "/v1/queues", paged=False))
    write_lines(folder / records.WORKERS, _all(client, "/v1/workers", paged=False))
    write_lines(
        folder / records.OCCURRENCES,
        (
            one | {"job_id": job_id}
            for job_id in recurring
            for one in _all(client, f"/v1/jobs/{job_id}/occurrences", to=over_at)
        ),
    )
    write_lines(folder / records.METRICS, _metrics(client, health_urls))


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
