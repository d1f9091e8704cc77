"""A small synchronous client. It speaks JSON as the API does: dictionaries in, dictionaries out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http.client import responses
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlencode

import msgspec

from dueline import __version__
from dueline.sdk.connection import Answer, Connection
from dueline.sdk.errors import to_error
from dueline.wire.problems import Problem
from dueline.wire.reading import decoder_of, encode

Json = dict[str, Any]

URL_DEFAULT = "http://127.0.0.1:8700"
TIMEOUT_S_DEFAULT = 30.0


class Client:
    """One server, over one kept-alive connection; not for several threads at a time.

    Every method raises an ApiError of `dueline.sdk.errors` when the server says no, and Unreachable when no answer comes.
    """

    def __init__(
        self, url: str = URL_DEFAULT, *, api_key: str | None = None, timeout_s: float = TIMEOUT_S_DEFAULT
    ) -> None:
        self._connection = Connection(url, timeout_s=timeout_s)
        self._headers = {"user-agent": f"dueline/{__version__}", "accept": "application/json"}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def interrupt(self) -> None:
        """Break off the call that another thread waits for: it ends as Unreachable."""
        self._connection.interrupt()

    def post(self, path: str, body: Any) -> Json:
        """Any call that has no method of its own here; `path` begins with /v1/."""
        return self._json("POST", path, body)

    def delete(self, path: str) -> None:
        self._send("DELETE", path)

    def create_job(self, job: Mapping[str, Any]) -> Json:
        return self._json("POST", "/v1/jobs", job)

    def create_jobs(self, jobs: Sequence[Mapping[str, Any]], *, atomic: bool = False, dry_run: bool = False) -> Json:
        """Create many jobs: `items` in their order, each with its `status` and a `job` or a `problem`. With `atomic` all or none, and a
        refusal is raised as for one. With `dry_run` nothing is written."""
        asked = {"jobs": jobs, "atomic": atomic}
        return self._json("POST", "/v1/jobs/bulk", asked, query=_dry_run(dry_run))

    def job(self, job_id: str) -> Json:
        return self._json("GET", _path("jobs", job_id))

    def jobs(self, **filters: Any) -> Json:
        """One page: `items`, and `next_cursor` for the next one."""
        return self._json("GET", "/v1/jobs", query=filters)

    def all_jobs(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/jobs", filters)

    def replace_job(
        self, job_id: str, job: Mapping[str, Any], *, if_version: int | None = None, dry_run: bool = False
    ) -> Json:
        """Replace the writable part of a job. With `dry_run` nothing is written, and the answer is the job as it would be."""
        path = _path("jobs", job_id)
        return self._json("PUT", path, job, query=_dry_run(dry_run), if_version=if_version)

    def edit_job(self, job_id: str, patch: Mapping[str, Any], *, if_version: int | None = None) -> Json:
        """Change some of a job by a merge patch: null removes, objects are merged."""
        return self._json("PATCH", _path("jobs", job_id), patch, if_version=if_version)

    def delete_job(self, job_id: str, *, if_version: int | None = None) -> None:
        self._send("DELETE", _path("jobs", job_id), if_version=if_version)

    def pause_job(self, job_id: str, *, note: str | None = None) -> Json:
        return self._json("POST", _path("jobs", job_id, "pause"), {"note": note})

    def resume_job(self, job_id: str) -> Json:
        return self._json("POST", _path("jobs", job_id, "resume"))

    def run_job(self, job_id: str, *, force: bool = False, **dedupe: Any) -> Json:
        """Run a job now; answers the run, or with a `dedupe_key` the one that stands for it (`dedupe_window`, `on_conflict` …)."""
        return self._json("POST", _path("jobs", job_id, "run"), {"force": force, **dedupe})

    def occurrences(self, job_id: str, **filters: Any) -> Json:
        """One page of what became of a job's due instants and of what comes. `from` and `to` are given as `**{"from": …}`."""
        return self._json("GET", _path("jobs", job_id, "occurrences"), query=filters)

    def skip_occurrence(self, job_id: str, at: str) -> Json:
        return self._json("POST", _path("jobs", job_id, "skip"), {"at": at})

    def move_occurrence(self, job_id: str, at: str, to: str) -> Json:
        return self._json("POST", _path("jobs", job_id, "move"), {"at": at, "to": to})

    def restore_occurrence(self, job_id: str, at: str) -> Json:
        return self._json("POST", _path("jobs", job_id, "restore"), {"at": at})

    def backfill_job(self, job_id: str, backfill: Mapping[str, Any]) -> Json:
        """Run a job for occurrences of the past: `from`, `to`, and `cap`, `rate`, `overlap`, `dry_run`."""
        return self._json("POST", _path("jobs", job_id, "backfill"), backfill)

    def preview_schedule(self, preview: Mapping[str, Any]) -> Json:
        """What a schedule means: `schedule`, and `timezone`, `from`, `count`, `job_id` …"""
        return self._json("POST", "/v1/schedules/preview", preview)

    def put_calendar(self, name: str, calendar: Mapping[str, Any]) -> Json:
        return self._json("PUT", _path("calendars", name), calendar)

    def calendar(self, name: str) -> Json:
        return self._json("GET", _path("calendars", name))

    def calendars(self, **filters: Any) -> Json:
        return self._json("GET", "/v1/calendars", query=filters)

    def all_calendars(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/calendars", filters)

    def delete_calendar(self, name: str) -> None:
        self._send("DELETE", _path("calendars", name))

    def create_run(self, run: Mapping[str, Any]) -> Json:
        """Write a run; with a `dedupe_key` the answer may be another that stands for it."""
        return self._json("POST", "/v1/runs", run)

    def create_runs(self, runs: Sequence[Mapping[str, Any]], *, atomic: bool = False) -> Json:
        """Write many runs: `items` in their order, each with its `status` and a `run` or a `problem`. With `atomic` all or none, and a
        refusal is raised as for one."""
        return self._json("POST", "/v1/runs/bulk", {"runs": runs, "atomic": atomic})

    def run(self, run_id: str) -> Json:
        return self._json("GET", _path("runs", run_id))

    def run_why(self, run_id: str) -> Json:
        """What a run waits for, at which place it stands, and when it may go on."""
        return self._json("GET", _path("runs", run_id, "why"))

    def runs(self, **filters: Any) -> Json:
        """One page. The filters `from` and `to` are given as `**{"from": …}`."""
        return self._json("GET", "/v1/runs", query=filters)

    def all_runs(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/runs", filters)

    def cancel_run(self, run_id: str) -> Json:
        """End a run. One that is under way stays `running` until its worker has ended it."""
        return self._json("POST", _path("runs", run_id, "cancel"))

    def dead_letters(self, **filters: Any) -> Json:
        """One page of failed runs that nobody has dealt with. The filters `from` and `to` are given as `**{"from": …}`."""
        return self._json("GET", "/v1/dead-letters", query=filters)

    def all_dead_letters(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/dead-letters", filters)

    def dead_letter(self, run_id: str) -> Json:
        """A dead letter by the id of its run, with what was executed."""
        return self._json("GET", _path("dead-letters", run_id))

    def redrive_dead_letter(self, run_id: str, redrive: Mapping[str, Any] | None = None) -> Json:
        """Try one again; answers the new run. `key`, `version` and `target` may be given."""
        return self._json("POST", _path("dead-letters", run_id, "redrive"), redrive or {})

    def redrive_dead_letters(self, redrive: Mapping[str, Any]) -> Json:
        """Try again those that match, as many as one call takes; `left` is for the next one, from `next_due_at` on as `start_at`."""
        return self._json("POST", "/v1/dead-letters/redrive", redrive)

    def purge_dead_letters(self, match: Mapping[str, Any]) -> int:
        """Put aside those that match, as many as one call takes; answers how many that were."""
        purged: int = self._json("POST", "/v1/dead-letters/purge", match)["purged"]
        return purged

    def purge_dead_letter(self, run_id: str) -> None:
        """Put one aside."""
        self._send("DELETE", _path("dead-letters", run_id))

    def queues(self) -> list[Json]:
        """Every queue that has live runs, is paused or is named by a worker, by name, with what there is to serve it."""
        queues: list[Json] = self._json("GET", "/v1/queues")["items"]
        return queues

    def queue(self, name: str) -> Json:
        """One queue; an empty one if nobody has named it yet."""
        return self._json("GET", _path("queues", name))

    def queue_shares(self, name: str) -> Json:
        """Who shares a queue: entitled to what, got what, and delayed by whom."""
        return self._json("GET", _path("queues", name, "shares"))

    def pause_queue(self, name: str, *, note: str | None = None) -> Json:
        return self._json("POST", _path("queues", name, "pause"), {"note": note})

    def resume_queue(self, name: str) -> Json:
        return self._json("POST", _path("queues", name, "resume"))

    def limits(self, **filters: Any) -> Json:
        """One page of what is set for hosts and queues, by name."""
        return self._json("GET", "/v1/limits", query=filters)

    def all_limits(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/limits", filters)

    def limit(self, scope: str, name: str) -> Json:
        """What is set for a `queue` or a `host`, and how many runs have a place there."""
        return self._json("GET", _path("limits", scope, quote(name, safe="")))

    def put_limit(self, scope: str, name: str, limit: Mapping[str, Any]) -> Json:
        """Set it, as `concurrency`, `rate` or both. Workers keep to it within five seconds."""
        return self._json("PUT", _path("limits", scope, quote(name, safe="")), limit)

    def delete_limit(self, scope: str, name: str) -> None:
        self._send("DELETE", _path("limits", scope, quote(name, safe="")))

    def tenants(self, **filters: Any) -> Json:
        """One page of the tenants that something was set for, by name."""
        return self._json("GET", "/v1/tenants", query=filters)

    def all_tenants(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/tenants", filters)

    def tenant(self, name: str) -> Json:
        """What is set for a tenant and what it has; the defaults if nothing was set."""
        return self._json("GET", _path("tenants", name))

    def put_tenant(self, name: str, tenant: Mapping[str, Any]) -> Json:
        """Set `weight` and `quotas`, all of them: what is left out has its default."""
        return self._json("PUT", _path("tenants", name), tenant)

    def edit_tenant(self, name: str, patch: Mapping[str, Any]) -> Json:
        """Set some of them by a merge patch: null removes a quota."""
        return self._json("PATCH", _path("tenants", name), patch)

    def workers(self) -> list[Json]:
        """All processes that fire schedules or execute runs, those that started first first."""
        workers: list[Json] = self._json("GET", "/v1/workers")["items"]
        return workers

    def worker(self, worker_id: str) -> Json:
        return self._json("GET", _path("workers", worker_id))

    def drain_worker(self, worker_id: str) -> Json:
        """Ask a process to end in order. It hears so with its next heartbeat."""
        return self._json("POST", _path("workers", worker_id, "drain"))

    def job_types(self) -> list[Json]:
        """The tasks that workers can carry out, by name."""
        types: list[Json] = self._json("GET", "/v1/job-types")["items"]
        return types

    def job_type(self, name: str) -> Json:
        return self._json("GET", _path("job-types", name))

    def signing_secret(self) -> Json:
        """Whether there is a secret to sign calls with, and since when; never the secret itself."""
        return self._json("GET", "/v1/signing-secret")

    def rotate_signing_secret(self) -> Json:
        """Make a new secret. This answer is the only one that ever holds it."""
        return self._json("POST", "/v1/signing-secret/rotate")

    def audit(self, **filters: Any) -> Json:
        """One page of accounts, a job each. The filters `from` and `to` are given as `**{"from": …}`."""
        return self._json("GET", "/v1/audit", query=filters)

    def all_audits(self, **filters: Any) -> Iterator[Json]:
        return self._all("/v1/audit", filters)

    def recovery(self, *, policy: str | None = None, rate: float | None = None) -> Json:
        """What is overdue, and what would become of it."""
        return self._json("GET", "/v1/recovery", query={"policy": policy, "rate": rate})

    def recover(self, *, policy: str | None = None, rate: float | None = None) -> Json:
        """Decide what is overdue. Without a policy each job follows its own."""
        asked = {"policy": policy, "rate": rate}
        return self._json("POST", "/v1/recovery", {name: said for name, said in asked.items() if said is not None})

    def forecast(self, *, hours: int | None = None) -> Json:
        return self._json("GET", "/v1/forecast", query={"hours": hours})

    def _all(self, path: str, filters: Mapping[str, Any]) -> Iterator[Json]:
        cursor = None
        while True:
            page = self._json("GET", path, query={**filters, "cursor": cursor})
            yield from page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        if_version: int | None = None,
    ) -> Json:
        answer = self._send(method, path, body, query=query, if_version=if_version)
        return decoder_of(Json).decode(answer.body)  # type: ignore[no-any-return]  # a cached decoder forgets its type

    def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        if_version: int | None = None,
    ) -> Answer:
        headers = dict(self._headers)
        if if_version is not None:
            headers["if-match"] = f'"v{if_version}"'
        if body is not None:
            headers["content-type"] = "application/merge-patch+json" if method == "PATCH" else "application/json"
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        target = f"{path}?{urlencode(asked)}" if asked else path
        answer = self._connection.send(method, target, body=None if body is None else encode(body), headers=headers)
        if answer.status >= 400:
            raise to_error(_problem(answer))
        return answer


def _path(noun: str, identifier: str, *more: str) -> str:
    return "/".join(["/v1", noun, quote(identifier, safe=""), *more])


def _dry_run(asked: bool) -> Json | None:
    return {"dry_run": "true"} if asked else None


def _problem(answer: Answer) -> Problem:
    """What the server said; something in between may have said it in another form."""
    try:
        problem: Problem = decoder_of(Problem).decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        title = responses.get(answer.status, "Error")
        problem = Problem(type="about:blank", title=title, status=answer.status)
    return problem
