"""A worker that has nothing but the API."""

from typing import Any

from tests.api.serving import Reply, ServedApi

RUN = "run_01h455vb4pex5vsknk084sn02q"
"""A run that is not there."""


class ApiWorker:
    """One id at the desk. Its queue is its own, so that tests on one server do not meet."""

    def __init__(self, api: ServedApi, queue: str, **fields: Any) -> None:
        self.api = api
        self.queue = queue
        reply = api.call("POST", "/v1/worker/register", {"queues": [queue], **fields})
        assert reply.status == 201, reply.body
        self.registered = reply.json
        self.id: str = reply.json["id"]

    def post(self, verb: str, body: Any = None, *, api: ServedApi | None = None, **how: Any) -> Reply:
        return (api or self.api).call("POST", f"/v1/worker/{self.id}/{verb}", body, **how)

    def told(self, verb: str, body: Any = None, *, api: ServedApi | None = None) -> Any:
        """What a call that was taken is answered."""
        reply = self.post(verb, body, api=api)
        assert reply.status == 200, reply.body
        return reply.json

    def enqueue(self, task: str = "t", **fields: Any) -> str:
        """A run for this worker."""
        target = {"type": "task", "task": task, "args": fields.pop("args", {})}
        reply = self.api.call("POST", "/v1/runs", {"queue": self.queue, "target": target, **fields})
        assert reply.status == 201, reply.body
        run_id: str = reply.json["id"]
        return run_id

    def leased(self, **fields: Any) -> dict[str, Any]:
        """A new run, in its hands."""
        self.enqueue(**fields)
        (run,) = self.told("lease")["runs"]
        return dict(run)

    def report(self, run: dict[str, Any], **result: Any) -> Any:
        return self.told("report", {"results": [{"id": run["id"], "token": run["token"], **result}]})

    def run(self, run: dict[str, Any]) -> Any:
        return self.api.call("GET", f"/v1/runs/{run['id']}").json
