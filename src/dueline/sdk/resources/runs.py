"""Runs: one execution each, of a job or of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

from dueline.domain.limits import RUNS_PER_CALL_MAX
from dueline.sdk.arguments import Duration, Instant, RunFields, to_plain, to_text, without_none, written
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, composed, endpoint, listing
from dueline.sdk.errors import invalid
from dueline.sdk.flows import Operation
from dueline.sdk.resources.events import WAIT
from dueline.sdk.waiting import waiting

if TYPE_CHECKING:
    from dueline.wire.bulk import BulkRunsView, RunItem
    from dueline.wire.events import EventView
    from dueline.wire.pages import Page
    from dueline.wire.runs import RunView
    from dueline.wire.whys import WhyView

    Items = list[RunItem]

CHUNK = 1_000
"""Runs of a call, unless said otherwise: enough to make the way there cheap, and few enough to be answered in a moment."""


class Runs(Resource[D]):
    """A run is one execution, and has the state."""

    @endpoint("POST /v1/runs")
    def enqueue(
        self,
        run: Mapping[str, Any] | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[RunFields],
    ) -> Call[RunView]:
        """Run something without a job, at once or at `due_at`: `enqueue(url="https://…", body={…})`, or `enqueue(task="report", args={…})`.

        With a `dedupe_key` the answer may be another run that stands for it. A whole `run` as the API has it may be given in place of
        keywords, or with them.
        """
        return Call(body=written(without_none(fields), run), idempotency_key=idempotency_key)

    @endpoint("POST /v1/runs/bulk")
    def enqueue_at_once(
        self,
        runs: Iterable[RunFields | Mapping[str, Any]],
        *,
        atomic: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[BulkRunsView]:
        """Write up to 10,000 runs in one call, each given as a dict of what `enqueue` takes. With `atomic` all are written or none,
        and a refusal is raised as for one."""
        asked = [written(without_none(run)) for run in runs]
        return Call(body={"runs": asked, "atomic": atomic}, idempotency_key=idempotency_key)

    @composed
    def enqueue_many(
        self,
        runs: Iterable[RunFields | Mapping[str, Any]],
        *,
        chunk: int = CHUNK,
        idempotency_key: str | None = None,
    ) -> Operation[Items]:
        """Write any number of runs, each given as a dict of what `enqueue` takes, in calls of `chunk` each. Answers what became of each
        in their order: a `status`, and the `run` with its `id` or the `problem`.

        What is wrong with one leaves the others. When a call fails as a whole, those before it have been written; with an
        `idempotency_key` of yours each call has one made of it, and the same asked for again within a day is not written again.
        """
        if not 1 <= chunk <= RUNS_PER_CALL_MAX:
            raise invalid([("chunk", f"must be between 1 and {RUNS_PER_CALL_MAX}")])
        rest = iter(runs)
        items: Items = []
        number = 0
        while some := [*islice(rest, chunk)]:
            key = None if idempotency_key is None else f"{idempotency_key}/{number}"
            told: BulkRunsView = yield Runs.enqueue_at_once.call(self, some, idempotency_key=key)
            items += told.items
            number += 1
        return items

    @endpoint("GET /v1/runs/{id}")
    def get(self, run_id: str) -> Call[RunView]:
        """Get a run with its attempts."""
        return Call((run_id,))

    @listing("GET /v1/runs")
    def list(
        self,
        *,
        job_id: str | None = None,
        job_name: str | None = None,
        state: str | None = None,
        kind: str | None = None,
        tag: str | None = None,
        queue: str | None = None,
        q: str | None = None,
        from_: Instant | None = None,
        to: Instant | None = None,
        page_size: int | None = None,
    ) -> Call[Page[RunView]]:
        """List runs, live and finished, latest scheduled first. `from_` and `to`: scheduled at or after, and before. `q` finds those that
        have all of its words in their errors, their reasons, or the names of their jobs. Where few of very many match, a page may have
        fewer than its size, or none, and the list goes on."""
        query = {
            "job_id": job_id,
            "job_name": job_name,
            "state": state,
            "kind": kind,
            "tag": tag,
            "queue": queue,
            "q": q,
            "from": to_text(from_, "from_"),
            "to": to_text(to, "to"),
            "limit": page_size,
        }
        return Call(query=query)

    @composed
    def wait(self, run_id: str, *, timeout_s: float | None = None) -> Operation[RunView]:
        """Wait until a run has ended, however it did, and answer it: look at its `state`, `result` and `error`.

        It is looked at again and again, at first soon and then less often; a server that is away for a while is waited for. With
        `timeout_s` the wait ends then at the latest, as StillRunning; the run goes on.
        """
        return (yield from waiting(Runs.get.call(self, run_id), run_id, self.driver.terms, timeout_s=timeout_s))

    @endpoint("POST /v1/runs/{id}/cancel")
    def cancel(self, run_id: str) -> Call[RunView]:
        """End a run. One that is under way stays `running` until its worker has ended it. Conflict for one that has ended."""
        return Call((run_id,))

    @endpoint("POST /v1/runs/{id}/retry")
    def retry(
        self,
        run_id: str,
        *,
        version: str | None = None,
        key: str | None = None,
        force: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[RunView]:
        """Try a run again that has failed, expired or been cancelled, with `force` also one that succeeded; answers the new run.

        `version="latest"` takes the job as it is now. Without a `key` every call makes a run; the same `key` always answers the same one.
        Conflict for a run that has not ended.
        """
        body = {**without_none({"version": version, "key": key}), "force": force}
        return Call((run_id,), body=body, idempotency_key=idempotency_key)

    @endpoint("GET /v1/runs/{id}/why")
    def why(self, run_id: str) -> Call[WhyView]:
        """Tell what a run waits for, at which place it stands, and when it may go on."""
        return Call((run_id,))

    @listing("GET /v1/runs/{id}/events")
    def events(self, run_id: str, *, cursor: str | None = None, wait: Duration = WAIT) -> Call[Page[EventView]]:
        """The state changes of a run, those so far first, until it has ended: `for event in client.runs.events(run.id): …`

        With the `id` of an event as `cursor` it goes on behind it.
        """
        return Call((run_id,), query={"cursor": cursor} | to_plain({"wait": wait}))
