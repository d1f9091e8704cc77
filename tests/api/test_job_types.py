"""Types of jobs over HTTP."""

from dueline.domain.ids import BootId
from dueline.store.fleet import JobType, Role
from dueline.worker.offers import Offers
from tests.api.serving import ServedApi
from tests.support.stores import register
from tests.support.task_app import app


def publish(api: ServedApi, *names: str) -> None:
    types = [JobType(name=name, queue="default", parameters="{}") for name in names]
    api.on_store(lambda store: store.publish_job_types(types, keep_ms=60_000))


def test_the_tasks_of_an_app_are_told_as_its_worker_offers_them(own_api: ServedApi) -> None:
    assert own_api.call("GET", "/v1/job-types").json == {"items": [], "next_cursor": None}
    own_api.on_store(lambda store: Offers(store, app).step())
    page = own_api.call("GET", "/v1/job-types").json
    assert [found["name"] for found in page["items"]] == sorted(app.tasks)
    add = own_api.call("GET", "/v1/job-types/add").json
    assert add in page["items"]
    assert (add["queue"], add["workers"], add["parameters"]["required"]) == ("default", 0, ["a"])
    assert add["parameters"]["properties"]["b"] == {"type": "integer", "default": 1}
    assert add["parameters"]["additionalProperties"] is False
    assert add["seen_at"].endswith("Z")


def test_only_workers_that_stay_are_counted(own_api: ServedApi) -> None:
    publish(own_api, "a", "b")
    own_api.on_store(lambda store: register(store, "both", tasks=("a", "b")))
    own_api.on_store(lambda store: register(store, "everything", role=Role.ALL, tasks=("b",)))
    own_api.on_store(lambda store: register(store, "leaving", tasks=("a", "b")))
    own_api.on_store(lambda store: store.ask_drain(BootId("leaving")))
    own_api.on_store(lambda store: register(store, "dead", tasks=("a", "b"), lease_s=-1.0))
    found = own_api.call("GET", "/v1/job-types").json["items"]
    assert [(one["name"], one["workers"]) for one in found] == [("a", 1), ("b", 2)]


def test_an_unknown_name_is_answered_by_those_near_it(own_api: ServedApi) -> None:
    publish(own_api, "report", "reports", "mail/send")
    reply = own_api.call("GET", "/v1/job-types/reprot")
    assert (reply.status, reply.json["detail"]) == (404, "no job type reprot: did you mean report or reports?")
    assert own_api.call("GET", "/v1/job-types/x").json["detail"] == "no job type x"
    assert own_api.call("GET", "/v1/job-types/mail%2Fsend").json["name"] == "mail/send"
    assert own_api.call("GET", "/v1/job-types/%00").status == 404
    assert own_api.call("GET", "/v1/job-types?limit=1").status == 422
