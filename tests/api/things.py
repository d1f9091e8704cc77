"""One of everything that a path can name, for tests that go over all routes. A route about something else fails them, by its name."""

import re
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from dueline.api.app import ROUTES
from dueline.api.openapi.document import operation_of
from dueline.api.routes import ApiRoute
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.states import RunState
from tests.api.serving import TARGET, Reply, ServedApi
from tests.api.working import claim, end

SKIPPED = {"at": "2099-12-24T09:00:00Z"}
NOWHERE = {"id": "job_01h455vb4pex5vsknk084sn02q", "version": "9", "tenant": "nobody-knows"}
"""What the parts of a path are called that name nothing."""
_numbers = count(1)


class Owner(NamedTuple):
    """Somebody with a key of a tenant."""

    api: ServedApi
    tenant: str
    key: str

    def call(self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None) -> Reply:
        sent = {"Authorization": f"Bearer {self.key}", "Accept": "application/json", **(headers or {})}
        return self.api.call(method, path, body, headers=sent)

    def made(self, method: str, path: str, body: Any = None) -> Any:
        reply = self.call(method, path, body)
        assert reply.status < 300, (method, path, reply.body)
        return reply.json


class Thing(NamedTuple):
    """What a route is about: the parts of its path, and the job, if it is one's."""

    parts: Mapping[str, str]
    job_id: str | None = None

    def path(self, route: ApiRoute) -> str:
        return re.sub(r"\{(\w+)\}", lambda part: self.parts[part[1]], route.path)

    def body(self, route: ApiRoute) -> Any:
        """What the document sends there, about this thing."""
        said: Any = next(iter(operation_of(route).requests.values()), None)
        if route.path == "/job/update":
            return {**said, "job_id": self.job_id}
        return {**said, "name": self.parts["name"]} if route.writes_job and said and "name" in said else said


Make = Callable[[Owner, ApiRoute], Thing]


def thing_for(owner: Owner, route: ApiRoute) -> Thing:
    """Something of the owner's that the route is about, and in a state that allows it."""
    if "{" not in route.path and route.path not in MADE:
        return Thing({})
    first = route.path[: route.path.find("}") + 1] or route.path
    assert first in MADE, f"{route.method} {route.path}: tests/api/things.py does not know how to make what it names"
    return MADE[first](owner, route)


def missing(route: ApiRoute) -> Thing:
    """The same, of what was never there."""
    run_id = NOWHERE["id"].replace("job_", "run_")
    identifier = NOWHERE["id"] if route.path.startswith(("/v1/jobs/", "/job/")) else run_id
    if route.path.startswith("/v1/keys/"):
        identifier = "a" * 16
    return Thing({**NOWHERE, "id": identifier, "scope": "queue", "name": f"nothing-{next(_numbers)}"}, NOWHERE["id"])


def a_key(api: ServedApi, tenant: str, role: str) -> Owner:
    reply = api.call("POST", "/v1/keys", {"role": role, "tenant": tenant})
    return Owner(api, tenant, reply.json["key"])


def _job(owner: Owner, route: ApiRoute) -> Thing:
    name = f"named/{next(_numbers)}"
    job = owner.made("POST", "/v1/jobs", {"name": name, "target": TARGET, "schedule": {"cron": "0 9 * * *"}})
    if route.path.endswith("/restore"):
        owner.made("POST", f"/v1/jobs/{job['id']}/skip", SKIPPED)
    if route.path.endswith("/diff"):
        owner.made("PATCH", f"/v1/jobs/{job['id']}", {"priority": 1})
    version = "2" if route.path.endswith("/diff") else "1"
    return Thing({"id": job["id"], "name": name, "version": version}, job["id"])


def _simple_job(owner: Owner, _route: ApiRoute) -> Thing:
    job = owner.made(
        "POST", "/job/create", {"job_type": "report", "frequency": "RECURRING", "schedule": "30 9 * * 1-5"}
    )
    return Thing({"id": job["job_id"]}, job["job_id"])


def _run(owner: Owner, route: ApiRoute) -> Thing:
    if route.path.endswith("/retry"):
        return _dead_letter(owner, route)
    return Thing({"id": owner.made("POST", "/v1/runs", {"target": TARGET, "queue": "still"})["id"]})


def _dead_letter(owner: Owner, _route: ApiRoute) -> Thing:
    queue = f"failing-{next(_numbers)}"
    run = owner.made("POST", "/v1/runs", {"target": TARGET, "queue": queue})
    end(owner.api, claim(owner.api, queue=queue), RunState.FAILED)
    return Thing({"id": run["id"]})


def _calendar(owner: Owner, _route: ApiRoute) -> Thing:
    calendar = owner.made("PUT", f"/v1/calendars/calendar-{next(_numbers)}", {"dates": ["2099-01-01"]})
    return Thing({"name": calendar["name"]})


def _queue(owner: Owner, _route: ApiRoute) -> Thing:
    name = f"queue-{next(_numbers)}"
    owner.api.call("POST", f"/v1/queues/{name}/pause", {"note": "why"})
    return Thing({"name": name})


def _limit(owner: Owner, _route: ApiRoute) -> Thing:
    name = f"limited-{next(_numbers)}"
    owner.api.call("PUT", f"/v1/limits/queue/{name}", {"concurrency": 7})
    return Thing({"scope": "queue", "name": name})


def _tenant(owner: Owner, _route: ApiRoute) -> Thing:
    return Thing({"tenant": owner.tenant})


def _worker(owner: Owner, _route: ApiRoute) -> Thing:
    return Thing({"id": owner.api.call("POST", "/v1/worker/register").json["id"]})


def _job_type(owner: Owner, _route: ApiRoute) -> Thing:
    name = f"mail.send-{next(_numbers)}"
    owner.api.call("POST", "/v1/worker/register", {"tasks": [{"name": name}]})
    return Thing({"name": name})


def _key(owner: Owner, _route: ApiRoute) -> Thing:
    return Thing({"id": owner.api.call("POST", "/v1/keys", {"role": "reader", "tenant": owner.tenant}).json["id"]})


MADE: Mapping[str, Make] = {
    "/v1/jobs/{id}": _job,
    "/v1/jobs/by-name/{name}": _job,
    "/job/{id}": _simple_job,
    "/job/update": _simple_job,
    "/v1/runs/{id}": _run,
    "/v1/dead-letters/{id}": _dead_letter,
    "/v1/calendars/{name}": _calendar,
    "/v1/queues/{name}": _queue,
    "/v1/limits/{scope}": _limit,
    "/v1/tenants/{tenant}": _tenant,
    "/v1/workers/{id}": _worker,
    "/v1/worker/{id}": _worker,
    "/v1/job-types/{name}": _job_type,
    "/v1/keys/{id}": _key,
}
"""By the path up to its first part that names something, or by the whole path where the body does."""

NAMING = [route for route in ROUTES if "{" in route.path or route.path in MADE]
"""The routes that are about one thing."""
WRITING = [route for route in ROUTES if route.method != "GET"]


def named(route: ApiRoute) -> str:
    return f"{route.method} {route.path}"


def governing(api: ServedApi) -> Owner:
    """Whoever runs the whole."""
    return a_key(api, DEFAULT_TENANT, "admin")
