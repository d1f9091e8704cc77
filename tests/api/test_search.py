"""Jobs searched over HTTP."""

from urllib.parse import quote

import pytest

from dueline.domain import limits
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


def test_pages_of_a_search_go_on(own_api: ServedApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", 2)
    monkeypatch.setattr(limits, "JOBS_LOOKED_MAX", 3)
    own_api.create(name="needle 1")
    for number in range(12):
        own_api.create(name=f"hay {number}")
    own_api.create(name="needle 2")
    names: list[str] = []
    cursor: str | None = ""
    pages = 0
    while cursor is not None:
        page = own_api.call("GET", f"/v1/jobs?q=needle&limit=1&cursor={cursor}").json
        names += [job["name"] for job in page["items"]]
        cursor, pages = page["next_cursor"], pages + 1
    assert names == ["needle 2", "needle 1"]
    assert pages > 2


def test_bad_searches_are_refused(api: ServedApi) -> None:
    for q in ("%20", quote(" ".join(["a"] * 9)), "x" * 201):
        assert list(api.call("GET", f"/v1/jobs?q={q}").reasons) == ["q"], q
    assert list(api.call("GET", "/v1/jobs?q=a&name_prefix=b").reasons) == ["q"]
    api.create(name="cursors a")
    api.create(name="cursors b")
    cursor = api.call("GET", "/v1/jobs?q=cursors&limit=1").json["next_cursor"]
    assert list(api.call("GET", f"/v1/jobs?q=other&cursor={cursor}").reasons) == ["cursor"]
    assert list(api.call("GET", f"/v1/jobs?cursor={cursor}").reasons) == ["cursor"]
