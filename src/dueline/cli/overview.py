"""What `dueline top` shows, gathered from the API at a bounded cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dueline.runtime.clock import Clock

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

FAILURES_SHOWN_MAX = 50
COUNT_SHARE = 0.05
"""The share of the time for which the server may be counting for us: all live runs are counted for the state of the queues, at about
a millisecond for a thousand of them."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """As the server told it. `counted_s` is how long ago the queues were counted."""

    queues: list[dict[str, Any]]
    workers: list[dict[str, Any]]
    failures: list[dict[str, Any]]
    counted_s: float


class Overviews:
    """Processes and failures are read for every frame, each by an index. Queues are counted again when twenty times as long has passed as
    the last count took: it is never more than a twentieth of the time."""

    def __init__(self, client: PlainClient, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._queues: list[dict[str, Any]] = []
        self._counted_s = float("-inf")
        self._again_s = float("-inf")

    def read(self) -> Overview:
        """What there is now; raises what the client raises."""
        workers = self._client.workers.list().page()["items"]
        failures = self._client.runs.list(state="failed", page_size=FAILURES_SHOWN_MAX).page()["items"]
        began_s = self._clock.monotonic_s()
        if began_s >= self._again_s:
            self._queues = self._client.queues.list().page()["items"]
            self._counted_s = self._clock.monotonic_s()
            self._again_s = self._counted_s + (self._counted_s - began_s) / COUNT_SHARE
        counted_s = self._clock.monotonic_s() - self._counted_s
        return Overview(queues=self._queues, workers=workers, failures=failures, counted_s=counted_s)
