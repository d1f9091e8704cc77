"""Jobs searched over HTTP."""

from collections.abc import Sequence
from urllib.parse import quote

import pytest

from dueline.domain.ids import JobId
from dueline.engine.insights import Insights
from dueline.store.pages import FoundJobs
from dueline.store.shapes import JobFilter
from tests.api.serving import ServedApi


def found(api: ServedApi, q: str, rest: str = "") -> list[str]:
    reply = api.call("GET", f"/v1/jobs?q={quote(q)}{rest}")
    assert reply.status == 200, reply.body
    return [job["name"] for job in reply.json["items"]]


def test_jobs_are_found_by_words(own_api: ServedApi) -> None:
    own_api.create(name="Monthly close", tags=["finance"])
    own_api.create(name="sync", target={"url": "https://crm.example.com/Sync"}, queue="slow")
    own_api.create(name="mail", target={"task": "close_tickets"})
    assert found(own_api, "close") == ["mail", "Monthly close"]
    assert found(own_api, "  CLOSE   finance ") == ["Monthly close"]
    assert found(own_api, "crm.example.com") == found(own_api, "sync", "&queue=slow") == ["sync"]
    assert found(own_api, "close", "&target_type=task") == ["mail"]
    assert found(own_api, "nothing") == []


def test_pages_of_a_search_go_on_and_are_full(own_api: ServedApi) -> None:
    for number in range(5):
        own_api.create(name=f"needle {number}")
        own_api.create(name=f"hay {number}")
    names: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = own_api.call("GET", f"/v1/jobs?q=needle&limit=2&cursor={cursor}").json
        names.append([job["name"] for job in page["items"]])
        cursor = page["next_cursor"]
    assert names == [["needle 4", "needle 3"], ["needle 2", "needle 1"], ["needle 0"]]


def test_a_page_that_ends_early_tells_where_to_go_on(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Insights.jobs_with

    async def one(
        insights: Insights, match: JobFilter, words: Sequence[str], *, before: JobId | None, limit: int
    ) -> FoundJobs:
        """As if it took too long to find another."""
        jobs = (await whole(insights, match, words, before=before, limit=limit)).jobs
        return FoundJobs(jobs[:1], jobs[0].id) if jobs else FoundJobs([])

    monkeypatch.setattr(Insights, "jobs_with", one)
    for number in range(3):
        own_api.create(name=f"needle {number}", target={"task": "sew"})
    for path in ("/v1/jobs?q=needle&limit=2", "/v1/jobs?job_type=sew&limit=2", "/job?job_type=sew&limit=2"):
        names: list[list[str]] = []
        cursor: str | None = ""
        while cursor is not None:
            page = own_api.call("GET", f"{path}&cursor={cursor}").json
            names.append([job["name"] for job in page["items"]])
            cursor = page["next_cursor"]
        assert names == [["needle 2"], ["needle 1"], ["needle 0"], []], path


def test_bad_searches_are_refused(api: ServedApi) -> None:
    for q in ("%20", "%25%2F", quote(" ".join("abcdefghijklmnopq")), "x" * 201):
        assert list(api.call("GET", f"/v1/jobs?q={q}").reasons) == ["q"], q
    assert list(api.call("GET", "/v1/jobs?q=a&name_prefix=b").reasons) == ["q"]
    api.create(name="cursors a")
    api.create(name="cursors b")
    cursor = api.call("GET", "/v1/jobs?q=cursors&limit=1").json["next_cursor"]
    assert list(api.call("GET", f"/v1/jobs?q=other&cursor={cursor}").reasons) == ["cursor"]
    assert list(api.call("GET", f"/v1/jobs?cursor={cursor}").reasons) == ["cursor"]
