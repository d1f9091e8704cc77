"""The page shows all of the API, and fetches nothing."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from dueline.api.app import ROUTES
from dueline.api.openapi.document import make_document, operation_of
from dueline.api.openapi.page import POLICY, render_page
from dueline.api.reference import DOCUMENT_PATH
from tests.api.serving import ServedApi

DOCUMENT = make_document(ROUTES)
PAGE = render_page(DOCUMENT, DOCUMENT_PATH)
EMPTY = {"meta", "input", "br"}


class Read(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.handlers: list[str] = []
        self.open: list[str] = []
        self.inline: dict[str, str] = {}
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in ("href", "src", "srcset", "action", "data", "poster"):
                self.references.append(value or "")
            elif name == "style" or name.startswith("on"):
                self.handlers.append(name)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            self.inline[self.open[-1]] = data
        else:
            self.text += data


READ = Read(PAGE)


def test_every_operation_is_shown() -> None:
    for route in ROUTES:
        assert operation_of(route).id in READ.ids
        assert f"{route.method} {route.path}" in READ.text
        assert route.summary.replace("`", "") in READ.text


def test_every_schema_and_every_problem_is_shown() -> None:
    assert {f"schema-{name}" for name in DOCUMENT["components"]["schemas"]} <= set(READ.ids)
    assert {f"problem-{name}" for name in DOCUMENT["components"]["responses"]} <= set(READ.ids)


def test_the_page_says_how_to_send_a_key_and_which() -> None:
    assert "Authorization: Bearer KEY" in READ.text
    assert "tells curl -H 'Authorization: Bearer KEY' http://127.0.0.1:8700/v1/caller." in READ.text
    for route in ROUTES:
        shown = PAGE.partition(f'id="{operation_of(route).id}"')[2].partition("</section>")[0]
        assert (
            "It takes no key." in shown
            if route.is_open
            else f"<code>{route.role}</code>" in shown or "any key" in shown
        )


def test_a_stream_is_shown_line_by_line() -> None:
    assert ": beat\nid: " in READ.text
    assert "\nevent: run.failed\ndata: {" in READ.text


def test_the_page_is_well_formed() -> None:
    assert READ.open == []
    assert len(set(READ.ids)) == len(READ.ids)


def test_references_stay_on_the_page_or_lead_to_the_document() -> None:
    inside = {f"#{one}" for one in READ.ids}
    assert set(READ.references) - inside == {DOCUMENT_PATH}


def test_nothing_is_fetched_and_nothing_runs_that_the_policy_does_not_name() -> None:
    assert READ.handlers == []
    assert (
        re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|eval\(|innerHTML", "".join(READ.inline.values()))
        == []
    )
    for kind in ("style", "script"):
        digest = b64encode(sha256(READ.inline[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in POLICY
    assert POLICY.startswith("default-src 'none';")
    assert "unsafe" not in POLICY


def test_what_others_wrote_cannot_become_markup() -> None:
    info = DOCUMENT["info"] | {"title": "<script>alert(1)</script>", "description": "`<b>` & <i>"}
    page = render_page(DOCUMENT | {"info": info}, '"><script>')
    assert page.count("<script>") == 1
    assert "<code>&lt;b&gt;</code> &amp; &lt;i&gt;" in page


def test_the_page_is_served(api: ServedApi) -> None:
    reply = api.call("GET", "/docs")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert reply.headers["content-security-policy"] == POLICY
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.body.decode() == PAGE
