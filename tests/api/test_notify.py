"""Whom to tell of ends, as it is written, corrected and refused."""

from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi

URL = "https://example.com/ended"


def test_what_is_left_out_gets_its_default(api: ServedApi) -> None:
    job = api.create(notify={"url": URL})
    assert job["notify"] == {"url": URL, "on": ["failed", "expired"], "headers": {}, "sign": True, "late_after": None}


def test_a_patch_changes_some_of_it_and_null_takes_it_away(api: ServedApi) -> None:
    job = api.create(notify={"url": URL, "headers": {"X-A": "b"}})
    path = f"/v1/jobs/{job['id']}"
    patched = api.call("PATCH", path, {"notify": {"on": ["cancelled", "succeeded"]}}).json
    assert patched["notify"] == {
        "url": URL,
        "on": ["succeeded", "cancelled"],
        "headers": {"X-A": "b"},
        "sign": True,
        "late_after": None,
    }
    assert api.call("PATCH", path, {"notify": None}).json["notify"] is None


def test_only_late_ends_may_be_asked_for(api: ServedApi) -> None:
    job = api.create(notify={"url": URL, "on": [], "late_after": "90s"})
    assert (job["notify"]["on"], job["notify"]["late_after"]) == ([], "PT1M30S")


def test_a_run_without_a_job_may_have_it(api: ServedApi) -> None:
    assert api.call("POST", "/v1/runs", {"target": TARGET, "notify": {"url": URL}}).status == 201


@pytest.mark.parametrize(
    ("notify", "fields"),
    [
        ({}, ["notify.url"]),
        ({"url": "example.com"}, ["notify.url"]),
        ({"url": "https://example.com/{{run.id}}"}, ["notify.url"]),
        ({"url": "https://example.com/{{job.id}}"}, ["notify.url"]),
        ({"url": URL, "on": []}, ["notify.on"]),
        ({"url": URL, "on": ["failed", "running"]}, ["notify.on[1]"]),
        ({"url": URL, "headers": {"Host": "x"}}, ["notify.headers.Host"]),
        ({"url": URL, "headers": {"X-Run": "{{run.id}}"}}, ["notify.headers.X-Run"]),
        ({"url": URL, "retry": {}}, ["notify.retry"]),
        ({"url": URL, "late_after": "soon"}, ["notify.late_after"]),
        ({"url": URL, "late_after": "PT0.999S"}, ["notify.late_after"]),
        ({"url": URL, "late_after": "P31D"}, ["notify.late_after"]),
    ],
)
@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/runs"])
def test_what_cannot_work_is_refused_with_its_field(
    api: ServedApi, path: str, notify: dict[str, Any], fields: list[str]
) -> None:
    reply = api.call("POST", path, {"target": TARGET, "notify": notify})
    assert (reply.status, list(reply.reasons)) == (422, fields)
