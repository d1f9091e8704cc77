"""Runs searched over HTTP."""

import pytest

from dueline.domain import limits
from tests.api.serving import TARGET, ServedApi


def found(api: ServedApi, query: str) -> list[str]:
    reply = api.call("GET", f"/v1/runs?{query}")
    assert reply.status == 200, reply.body
    return [run["id"] for run in reply.json["items"]]


def test_runs_are_found_by_the_name_of_their_job_beside_other_filters(own_api: ServedApi) -> None:
    job = own_api.create(name="Monthly close", overlap="allow", queue="slow")
    own_api.call("POST", "/v1/runs", {"target": TARGET})
    run_id = own_api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]
    assert found(own_api, "q=close") == found(own_api, "q=MONTH%20clo&queue=slow&kind=manual") == [run_id]
    assert (
        found(own_api, f"q=close&job_id={job['id']}") == found(own_api, "q=close&job_name=Monthly%20close") == [run_id]
    )
    assert found(own_api, "q=lose") == found(own_api, "q=close&queue=default") == []


def test_pages_of_a_search_go_on_though_none_of_a_page_fits(
    own_api: ServedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RUNS_LOOKED_FIRST", 2)
    monkeypatch.setattr(limits, "RUNS_LOOKED_MAX", 2)
    needle, hay = (own_api.create(name=name, overlap="allow")["id"] for name in ("needle", "hay"))
    wanted = [own_api.call("POST", f"/v1/jobs/{needle}/run").json["id"] for _ in range(2)]
    for _ in range(7):
        own_api.call("POST", f"/v1/jobs/{hay}/run")
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = own_api.call("GET", f"/v1/runs?q=needle&limit=1&cursor={cursor}").json
        pages.append([run["id"] for run in page["items"]])
        cursor = page["next_cursor"]
    assert [run_id for page in pages for run_id in page] == wanted[::-1]
    assert pages[0] == []


def test_bad_searches_of_runs_are_refused(own_api: ServedApi) -> None:
    for q in ("%20", "%25%2F", "+".join("abcdefghijklmnopq"), "x" * 201):
        assert list(own_api.call("GET", f"/v1/runs?q={q}").reasons) == ["q"], q
    job = own_api.create(name="cursors", overlap="allow")
    for _ in range(2):
        own_api.call("POST", f"/v1/jobs/{job['id']}/run")
    cursor = own_api.call("GET", "/v1/runs?q=cursors&limit=1").json["next_cursor"]
    assert list(own_api.call("GET", f"/v1/runs?q=other&cursor={cursor}").reasons) == ["cursor"]
    assert list(own_api.call("GET", f"/v1/runs?cursor={cursor}").reasons) == ["cursor"]
