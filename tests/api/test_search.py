"""Jobs searched over HTTP."""

from urllib.parse import quote

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


def test_bad_searches_are_refused(api: ServedApi) -> None:
    for q in ("%20", "%25%2F", quote(" ".join("abcdefghijklmnopq")), "x" * 201):
        assert list(api.call("GET", f"/v1/jobs?q={q}").reasons) == ["q"], q
    assert list(api.call("GET", "/v1/jobs?q=a&name_prefix=b").reasons) == ["q"]
    api.create(name="cursors a")
    api.create(name="cursors b")
    cursor = api.call("GET", "/v1/jobs?q=cursors&limit=1").json["next_cursor"]
    assert list(api.call("GET", f"/v1/jobs?q=other&cursor={cursor}").reasons) == ["cursor"]
    assert list(api.call("GET", f"/v1/jobs?cursor={cursor}").reasons) == ["cursor"]
