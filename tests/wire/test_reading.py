"""From JSON to a request: every problem is told, and what is right is read all the same."""

from typing import Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.wire.problems import Problems
from dueline.wire.reading import Unreadable, check_names, read_body, read_value


class Inner(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    size: int | UnsetType
    label: str = "none"


class Outer(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    inner: Inner | UnsetType
    many: list[Inner] = []
    words: list[str] = []
    texts: dict[str, str] = {}
    maybe: Inner | None = None


def problems_of(value: Any) -> tuple[Outer, list[tuple[str, str]]]:
    problems = Problems()
    read = read_value(value, Outer, problems)
    with pytest.raises(Invalid) as raised:
        problems.raise_any()
    return read, list(raised.value.problems)


def test_what_is_right_has_no_problems() -> None:
    problems = Problems()
    read = read_body(b'{"inner": {"size": 1}, "many": [{"size": 2}]}', Outer, problems)
    problems.raise_any()
    assert read == Outer(inner=Inner(size=1), many=[Inner(size=2)])


def test_every_problem_is_told_and_the_rest_is_read() -> None:
    read, problems = problems_of(
        {"inner": {"size": "x", "label": "good"}, "many": [{"size": 1}, 5, {"sise": 2}], "words": ["a", 1], "extra": 1}
    )
    assert dict(problems) == {
        "extra": "unknown field",
        "inner.size": "must be a whole number, not text",
        "many[1]": "must be an object, not a whole number",
        "many[2].sise": "unknown field: did you mean size?",
        "many[2].size": "is required",
        "words[1]": "must be text, not a whole number",
    }
    assert read.inner == Inner(size=UNSET, label="good")
    assert [inner.size for inner in read.many] == [1, UNSET, UNSET]
    assert read.words == []


def test_a_member_of_a_map_is_named() -> None:
    read, problems = problems_of({"inner": {"size": 1}, "texts": {"a": "x", "b": None}})
    assert problems == [("texts.b", "must be text, not null")]
    assert read.texts == {"a": "x"}


@pytest.mark.parametrize("value", [None, 5, "x", [], [1]])
def test_only_an_object_is_a_request(value: Any) -> None:
    _, problems = problems_of(value)
    assert problems == [("body", "must be a JSON object")]


@pytest.mark.parametrize("raw", [b"", b"{", b'"\xff"', b"[" * 100_000, b'{"inner": 1e999}'])
def test_what_is_not_json_is_unreadable(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        read_body(raw, Outer, Problems())


def test_names_are_checked_whatever_they_hold() -> None:
    problems = Problems()
    check_names({"extra": None, "inner": {"x": None}, "texts": {"any": None}, "maybe": None}, Outer, problems)
    with pytest.raises(Invalid) as raised:
        problems.raise_any()
    assert [field for field, _ in raised.value.problems] == ["extra", "inner.x"]


def test_problems_are_bounded_in_number_and_size() -> None:
    problems = Problems()
    for number in range(1_000):
        problems.within(f"runs[{number}].").add("x" * 10_000, "y" * 10_000)
    assert problems.full
    with pytest.raises(Invalid) as raised:
        problems.raise_any()
    assert len(raised.value.problems) == limits.PROBLEMS_MAX
    assert all(len(field) <= 200 and len(reason) <= 500 for field, reason in raised.value.problems)


def test_a_consequence_is_told_from_its_cause() -> None:
    problems = Problems()
    problems.within("runs[1].").add("retry.cap", "x")
    assert problems.touch("runs")
    assert problems.within("runs[1].").touch("retry")
    assert not problems.touch("run")
    assert not problems.touch("retry")
