"""Jobs, their versions, their occurrences and their backfills."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from dueline.sdk.arguments import (
    DedupeFields,
    Instant,
    JobFields,
    patched,
    to_plain,
    to_text,
    without_none,
    written,
)
from dueline.sdk.calls import Call
from dueline.sdk.drivers import at_cursor
from dueline.sdk.endpoints import D, Resource, composed, endpoint, listing
from dueline.sdk.flows import Operation

if TYPE_CHECKING:
    from dueline.wire.backfills import BackfillView
    from dueline.wire.bulk import BulkJobsView
    from dueline.wire.jobs import JobView
    from dueline.wire.occurrences import OccurrenceView
    from dueline.wire.pages import Page
    from dueline.wire.runs import RunView
    from dueline.wire.upcoming import UpcomingView
    from dueline.wire.versions import DiffView, VersionView
    from dueline.wire.whys import JobWhyView

    Occurrences = list[UpcomingView]


class Jobs(Resource[D]):
    """Jobs say what to call, and when."""

    @endpoint("POST /v1/jobs")
    def create(
        self,
        job: Mapping[str, Any] | None = None,
        /,
        *,
        paused: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        **fields: Unpack[JobFields],
    ) -> Call[JobView]:
        """Create a job: `create(url="https://…", schedule="every 15m", name="sync")`, or `create(task="report", args={…})`.

        `schedule` takes text in any language of schedules, a timedelta (how often), a datetime (once), or an object as the API has it;
        without one the job runs only when asked. A whole `job` as the API has it may be given in place of keywords, or with them. It begins
        `paused` if that is said. With `dry_run` nothing is created, and the answer is the job as it would be.

        Raises Conflict when the name is taken, Invalid for fields that need correction.
        """
        body = written(without_none(fields), job) | ({"state": "paused"} if paused else {})
        return Call(body=body, query=_dry(dry_run), idempotency_key=idempotency_key)

    @endpoint("POST /v1/jobs/bulk")
    def create_many(
        self,
        jobs: Iterable[JobFields | Mapping[str, Any]],
        *,
        atomic: bool = False,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[BulkJobsView]:
        """Create up to 10,000 jobs in one call, each given as a dict of what `create` takes. Answers `items` in their order, each with
        a `status` and its `job` or its `problem`. With `atomic` all are created or none, and a refusal is raised as for one; with
        `dry_run` none is created."""
        body = {"jobs": [written(without_none(job)) for job in jobs], "atomic": atomic}
        return Call(body=body, query=_dry(dry_run), idempotency_key=idempotency_key)

    @endpoint("GET /v1/jobs/{id}")
    def get(self, job_id: str) -> Call[JobView]:
        """Get a job."""
        return Call((job_id,))

    @endpoint("GET /v1/jobs/by-name/{name}")
    def get_named(self, name: str) -> Call[JobView]:
        """Get the job that has a name."""
        return Call((name,))

    @endpoint("PUT /v1/jobs/by-name/{name}")
    def put_named(
        self,
        name: str,
        job: Mapping[str, Any] | None = None,
        /,
        *,
        create_only: bool = False,
        if_version: int | None = None,
        dry_run: bool = False,
        **fields: Unpack[JobFields],
    ) -> Call[JobView]:
        """Write the job that has a name, new or in place of the one that is there; what is left out goes back to its default. With
        `create_only` none is replaced, and with `if_version` none is created; VersionMismatch otherwise."""
        body = written(without_none(fields), job)
        return Call((name,), body=body, query=_dry(dry_run), if_version=if_version, create_only=create_only)

    @listing("GET /v1/jobs")
    def list(
        self,
        *,
        state: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        target_type: str | None = None,
        job_type: str | None = None,
        name_prefix: str | None = None,
        q: str | None = None,
        page_size: int | None = None,
    ) -> Call[Page[JobView]]:
        """List jobs, newest first; with `name_prefix` by name. `for job in client.jobs.list(): …` goes through all pages, and
        `client.jobs.list().page()` gets one. `job_type` is the name of a task. `q` finds those that have all of its words in their names,
        tags, URLs or tasks. With either a page may have fewer than its size, or none, and the list goes on."""
        query = {
            "state": state,
            "queue": queue,
            "tag": tag,
            "target_type": target_type,
            "job_type": job_type,
            "name_prefix": name_prefix,
            "q": q,
            "limit": page_size,
        }
        return Call(query=query)

    @endpoint("PUT /v1/jobs/{id}")
    def update(
        self,
        job_id: str,
        job: Mapping[str, Any] | None = None,
        /,
        *,
        if_version: int | None = None,
        dry_run: bool = False,
        **fields: Unpack[JobFields],
    ) -> Call[JobView]:
        """Replace what people write of a job; what is left out goes back to its default. With `if_version` only at that version, and
        VersionMismatch otherwise. With `dry_run` nothing is changed, and the answer is the job as it would be."""
        body = written(without_none(fields), job)
        return Call((job_id,), body=body, query=_dry(dry_run), if_version=if_version)

    @endpoint("PATCH /v1/jobs/{id}")
    def patch(
        self,
        job_id: str,
        patch: Mapping[str, Any] | None = None,
        /,
        *,
        if_version: int | None = None,
        **fields: Unpack[JobFields],
    ) -> Call[JobView]:
        """Change some of a job: `patch(job.id, priority=9, run_timeout=None)`. What is not given stays, None goes back to its default,
        objects are merged, and a schedule that is text replaces the one that is there."""
        return Call((job_id,), body=patched(fields, patch), if_version=if_version)

    @endpoint("DELETE /v1/jobs/{id}")
    def delete(self, job_id: str, *, if_version: int | None = None) -> Call[None]:
        """Delete a job: unstarted runs are cancelled, running ones end, its history stays."""
        return Call((job_id,), if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/pause")
    def pause(self, job_id: str, *, note: str | None = None, if_version: int | None = None) -> Call[JobView]:
        """Stop planning and starting runs of a job. `note` says why, for whoever finds it so; asked again without one, it stays."""
        return Call((job_id,), body={"note": note}, if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/resume")
    def resume(self, job_id: str, *, if_version: int | None = None) -> Call[JobView]:
        """Go on. What was held or missed meanwhile follows the misfire policy."""
        return Call((job_id,), if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/cancel")
    def cancel(
        self, job_id: str, *, note: str | None = None, cancel_running: bool = False, if_version: int | None = None
    ) -> Call[JobView]:
        """End a job for good: nothing more of it is planned, unstarted runs are cancelled, and those under way end by themselves, or with
        `cancel_running` are asked to stop. It stays to be seen; all that can be done with it is to delete it."""
        return Call((job_id,), body={"note": note, "cancel_running": cancel_running}, if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/run")
    def run(
        self,
        job_id: str,
        *,
        force: bool = False,
        if_version: int | None = None,
        idempotency_key: str | None = None,
        **dedupe: Unpack[DedupeFields],
    ) -> Call[RunView]:
        """Run a job now, also while it is paused; answers the run, or with a `dedupe_key` the one that stands for it. `force` runs it
        beside others, whatever its overlap policy and its limits say."""
        body = {"force": force, **without_none(to_plain(dedupe))}
        return Call((job_id,), body=body, if_version=if_version, idempotency_key=idempotency_key)

    @endpoint("GET /v1/jobs/{id}/why")
    def why(self, job_id: str) -> Call[JobWhyView]:
        """Tell why a job does not run now, and when it runs next."""
        return Call((job_id,))

    @listing("GET /v1/jobs/{id}/versions")
    def versions(self, job_id: str, *, page_size: int | None = None) -> Call[Page[VersionView]]:
        """List the versions of a job, newest first: what it was, and from when on."""
        return Call((job_id,), query={"limit": page_size})

    @endpoint("GET /v1/jobs/{id}/versions/{version}")
    def version(self, job_id: str, version: int) -> Call[VersionView]:
        """Get one version of a job."""
        return Call((job_id, str(version)))

    @endpoint("GET /v1/jobs/{id}/versions/{version}/diff")
    def diff(self, job_id: str, version: int, *, against: int | None = None) -> Call[DiffView]:
        """Tell what changed from the version `against`, or the one before, to this one."""
        return Call((job_id, str(version)), query={"against": against})

    @endpoint("POST /v1/jobs/{id}/versions/{version}/rollback")
    def rollback(
        self,
        job_id: str,
        version: int,
        *,
        if_version: int | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Call[JobView]:
        """Give a job the definition of an earlier version, as a new one. What could not be written today is refused. With `if_version`
        only at that version; with `dry_run` nothing is changed, and the answer is the job as it would be."""
        return Call(
            (job_id, str(version)),
            query=_dry(dry_run),
            if_version=if_version,
            idempotency_key=idempotency_key,
        )

    @listing("GET /v1/jobs/{id}/occurrences")
    def occurrences(
        self,
        job_id: str,
        *,
        from_: Instant | None = None,
        to: Instant | None = None,
        page_size: int | None = None,
    ) -> Call[Page[OccurrenceView]]:
        """List the due instants of a job, earliest first, from a day ago unless `from_` says otherwise: what became of each, and those
        that come. Without `to` it goes on and on."""
        query = {"from": to_text(from_, "from_"), "to": to_text(to, "to"), "limit": page_size}
        return Call((job_id,), query=query)

    @listing("GET /v1/jobs/{id}/upcoming")
    def coming(self, job_id: str, *, page_size: int | None = None) -> Call[Page[UpcomingView]]:
        """List the occurrences of a job that are to fire, earliest first; as a rule it goes on and on. Of a paused job, those that would
        come if it were resumed now."""
        return Call((job_id,), query={"limit": page_size})

    @composed
    def upcoming(self, job_id: str, *, count: int = 10) -> Operation[Occurrences]:
        """The next occurrences of a job that are to fire, up to `count`."""
        call = Jobs.coming.call(self, job_id, page_size=count)
        page: Page[UpcomingView] = yield call
        found = page.items
        while len(found) < count and page.next_cursor is not None:
            page = yield at_cursor(call, page.next_cursor)
            found += page.items
        return found[:count]

    @endpoint("POST /v1/jobs/{id}/skip")
    def skip(self, job_id: str, at: Instant, *, if_version: int | None = None) -> Call[JobView]:
        """Leave out one coming occurrence, by the instant at which the schedule has it."""
        return Call((job_id,), body={"at": to_text(at, "at")}, if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/move")
    def move(self, job_id: str, at: Instant, to: Instant, *, if_version: int | None = None) -> Call[JobView]:
        """Move one coming occurrence to another instant."""
        body = {"at": to_text(at, "at"), "to": to_text(to, "to")}
        return Call((job_id,), body=body, if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/restore")
    def restore(self, job_id: str, at: Instant, *, if_version: int | None = None) -> Call[JobView]:
        """Put one occurrence back that was left out or moved."""
        return Call((job_id,), body={"at": to_text(at, "at")}, if_version=if_version)

    @endpoint("POST /v1/jobs/{id}/backfill")
    def backfill(
        self,
        job_id: str,
        from_: Instant,
        to: Instant,
        *,
        cap: int | None = None,
        rate: float | None = None,
        overlap: str | None = None,
        dry_run: bool = False,
        if_version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Call[BackfillView]:
        """Run a job for its occurrences from one instant to before another, both past. `dry_run` only tells which; the same range
        asked for again is not written again."""
        said = {"cap": cap, "rate": rate, "overlap": overlap}
        body = {"from": to_text(from_, "from_"), "to": to_text(to, "to"), "dry_run": dry_run, **without_none(said)}
        return Call((job_id,), body=body, if_version=if_version, idempotency_key=idempotency_key)


def _dry(dry_run: bool) -> dict[str, str | None]:
    return {"dry_run": "true" if dry_run else None}
