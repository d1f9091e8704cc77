"""Cursors belong to one list with one set of filters."""

import pytest

from dueline.domain.errors import Invalid
from dueline.store.shapes import JobFilter
from dueline.wire.pages import make_cursor, query_mark, read_cursor

ID = bytes(range(16))
MARK = query_mark("jobs", JobFilter(tenant="default", queue="a"))


def test_a_cursor_comes_back() -> None:
    cursor = make_cursor(MARK, ID)
    assert read_cursor(cursor, MARK) == ID
    assert cursor.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize(
    ("noun", "match"),
    [
        ("runs", JobFilter(tenant="default", queue="a")),
        ("jobs", JobFilter(tenant="other", queue="a")),
        ("jobs", JobFilter(tenant="default", queue="b")),
        ("jobs", JobFilter(tenant="default", tag="a")),
        ("jobs", JobFilter(tenant="default")),
    ],
)
def test_a_cursor_of_another_query_is_refused(noun: str, match: JobFilter) -> None:
    with pytest.raises(Invalid, match="another query"):
        read_cursor(make_cursor(MARK, ID), query_mark(noun, match))


@pytest.mark.parametrize("text", ["", "x", "é", "====", make_cursor(MARK, ID)[:-1], make_cursor(MARK, ID + ID)])
def test_a_damaged_cursor_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="not a cursor"):
        read_cursor(text, MARK)
