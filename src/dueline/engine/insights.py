"""What people want to know: jobs and runs, one or a page of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dueline.domain import limits
from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId, RunId, job_text, run_text
from dueline.domain.job import Job
from dueline.domain.run import Run, as_seen
from dueline.domain.states import TERMINAL
from dueline.engine.naming import job_named
from dueline.runtime.clock import StoreTime
from dueline.store.names import Names
from dueline.store.pages import FoundJobs, lie_apart
from dueline.store.protocol import Store
from dueline.store.shapes import JobFilter, Progress, RunFilter, VersionInForce


class FoundRuns(NamedTuple):
    """Runs of a page, and the id down to which all that match were found, where the list goes on below it."""

    runs: list[Run]
    edge: RunId | None


class Insights:
    """Reads, for one tenant a call. What belongs to others does not exist here."""

    def __init__(self, store: Store, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def job(self, tenant: str, job_id: JobId) -> Job:
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        return job

    async def job_named(self, tenant: str, name: str) -> Job | None:
        """The living job that has a name."""
        return await job_named(self._store, tenant, name)

    async def names_of(self, tenant: str, runs: Iterable[Run]) -> dict[JobId, str]:
        """The names of the jobs of runs, deleted ones included, in one look."""
        job_ids = {run.job_id for run in runs if run.job_id is not None}
        return await self._store.job_names(tenant, job_ids) if job_ids else {}

    async def versions(self, job: Job, *, before: int | None, limit: int) -> list[VersionInForce]:
        """Versions of a job below a number, newest first."""
        return await self._store.versions_page(job.id, before=before, limit=limit)

    async def version(self, job: Job, version: int) -> VersionInForce:
        found = await self._store.versions_page(job.id, before=version + 1, limit=1)
        if not found or found[0].version != version:
            raise NotFound("version", f"{version} of {job_text(job.id)}")
        return found[0]

    async def jobs(self, match: JobFilter, *, before: JobId | None, limit: int) -> list[Job]:
        return await self._store.jobs_page(match, before=before, limit=limit)

    async def jobs_with(self, match: JobFilter, words: Sequence[str], *, before: JobId | None, limit: int) -> FoundJobs:
        """A page of jobs that have words that begin so, in their names, tags, and URLs or tasks: all of them. None: all jobs."""
        if not words:
            return FoundJobs(await self.jobs(match, before=before, limit=limit))
        return await self._store.jobs_with(match, words, before=before, limit=limit)

    async def jobs_named(self, match: JobFilter, names: Names, *, limit: int) -> list[Job]:
        return await self._store.jobs_named(match, names, limit=limit)

    async def run(self, tenant: str, run_id: RunId) -> Run:
        run = await self._store.run(tenant, run_id)
        if run is None:
            raise NotFound("run", run_text(run_id))
        return as_seen(run, now_ms=self._time().now_ms())

    async def progress(self, run: Run) -> Progress | None:
        """What a run told of itself last, if it is live and was started."""
        if run.state in TERMINAL or not (run.attempt or run.attempts):
            return None
        return (await self._store.progress_of([run.id])).get(run.id)

    async def runs(self, match: RunFilter, words: Sequence[str] = (), *, before: RunId | None, limit: int) -> FoundRuns:
        """A page of runs, for which a bounded number of them is looked at: those that have words that begin so, all of them. One that is
        filtered by state shows the states that the store has."""
        found: list[Run] = []
        edge = before
        most = limits.RUNS_LOOKED_APART_MAX if lie_apart(match) else limits.RUNS_LOOKED_MAX
        for rows in (limits.RUNS_LOOKED_FIRST, most):
            above, edge = edge, await self._store.runs_edge(match, before=edge, rows=rows)
            found += await self._store.runs_page(match, words, before=above, limit=limit - len(found), down_to=edge)
            if edge is None or len(found) == limit:
                break
        if match.state is None:
            now_ms = self._time().now_ms()
            found = [as_seen(run, now_ms=now_ms) for run in found]
        return FoundRuns(found, edge)

    async def store_is_there(self) -> int:
        """The store's time, or StoreUnavailable."""
        return await self._store.now_ms()
