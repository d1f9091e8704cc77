"""YAML and JSON as trees: scalars are what JSON would have, everything has its line, and what cannot be sent is refused there."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.declared import trees
from dueline.declared.trees import Misread, Node, read_trees
from dueline.declared.writing import to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.from_regex(r"\A[-+]?[0-9._:eExXobn~]{1,8}\Z")
    | st.sampled_from(["on", "no", "Yes", "null", "~", "", "true", "2026-03-29", "0 9 * * *", "<<", "=", "a: b", "- a"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


def read(text: str) -> Any:
    (tree,) = read_trees(text)
    return tree.plain


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("0", 0),
        ("-0", 0),
        ("-17", -17),
        ("18446744073709551615", 2**64 - 1),
        ("1.50", 1.5),
        ("1e5", 1e5),
        ("'1'", "1"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5),
        *((text, text) for text in ("on", "off", "yes", "no", "y", "n", "True", "NULL", "Null", "2026-03-29", "12:30")),
        *((text, text) for text in ("0 9 * * *", "0o17", "0x1F", "012", "+1", ".5", "5.", "1_000", ".inf", "1e", "-x")),
        ("2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"),
        ("PT15M", "PT15M"),
    ],
)
def test_scalars_are_read_as_json_would(written: str, meant: Any) -> None:
    value = read(f"a: {written}")["a"]
    assert (value, type(value)) == (meant, type(meant))


def test_names_are_text_as_it_is_written() -> None:
    assert read("{200: a, on: b, null: c, 1.0: d}") == {"200": "a", "on": "b", "null": "c", "1.0": "d"}


def test_anchors_and_merges_save_repetition() -> None:
    text = """
    x: &x {a: 1, b: 2}
    y: &y {b: 3, c: 4}
    one: {<<: *x, b: 9}
    both: {<<: [*x, *y]}
    again: *x
    quoted: {"<<": 5}
    """
    found = read(text)
    assert found["one"] == {"a": 1, "b": 9}
    assert found["both"] == {"a": 1, "b": 2, "c": 4}
    assert found["again"] == {"a": 1, "b": 2}
    assert found["quoted"] == {"<<": 5}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\na: 2", 2, "'a' is given twice"),
        ("a: [1\nb: 2", 2, "is not YAML"),
        ("a:\n  - &x [*x]", 2, "holds itself"),
        ("a:\n  b: 18446744073709551616", 2, "too large a number"),
        ("a:\n  b: 1e999", 2, "too large a number"),
        ("a: !!python/object:os.system {}", 1, "no meaning here"),
        ("a: !!binary aGk=", 1, "no meaning here"),
        ("a: !!int on", 1, "no meaning here"),
        ("a: !mine 5", 1, "no meaning here"),
        ("[a]: 1", 1, "must be text"),
        ("a:\n  <<: 5", 2, "takes an object"),
        ("a: \x01", 1, "is not YAML"),
        ("a: *nobody", 1, "is not YAML"),
        ('{"a": 1,\n "a": 2}', 2, "'a' is given twice"),
        ('{"a":\n ["\\ud800"]}', 2, "half of a character"),
        ('{"a": 1e999}', 1, "too large a number"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(Misread, match=reason) as told:
        read_trees(text)
    assert told.value.line == line


@pytest.mark.parametrize(("text", "line"), [('{"a": 1,\n}', 2), ("a: 1", 1), ('{"a": NaN}', 1), ("", 1)])
def test_a_json_file_must_be_json(text: str, line: int) -> None:
    with pytest.raises(Misread, match="is not JSON") as told:
        read_trees(text, is_json=True)
    assert told.value.line == line


def test_what_aliases_repeat_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "NODES_MAX", 1_000)
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(Misread, match="more than 1000 values"):
        read_trees("\n".join(lines))


@pytest.mark.parametrize("shape", ["[{}]", '{{"a": {}}}'])
@pytest.mark.parametrize("is_json", [True, False])
def test_what_is_nested_too_deeply_is_refused(shape: str, is_json: bool) -> None:
    def nested(levels: int) -> str:
        text = "1" if is_json else "on"
        for _ in range(levels):
            text = shape.format(text)
        return text

    assert len(read_trees(nested(trees.DEPTH_MAX), is_json=is_json)) == 1
    for levels in (trees.DEPTH_MAX + 1, 100_000 if is_json else 900):
        with pytest.raises(Misread, match=f"nested more than {trees.DEPTH_MAX} deep"):
            read_trees(nested(levels), is_json=is_json)


def test_a_number_of_any_length_is_refused_and_no_more() -> None:
    for text in ('{"a": ' + "1" * 5_000 + "}", "a: " + "1" * 5_000):
        with pytest.raises(Misread, match="too large a number"):
            read_trees(text)


YAML = """jobs:
  - name: a
    schedule:
      cron: x
      changed:
        - at: b
        - at: c
    target: {url: d,
      body: [1]}
"""
JSON = """{"jobs": [
  {"name": "a",
    "schedule": {
      "cron": "x",
      "changed": [
        {"at": "b"},
        {"at": "c"}],
    "timezone": "UTC"},
    "target": {"url": "d"
      ,"body": [1]}}]}
"""


@pytest.mark.parametrize("text", [YAML, JSON])
@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("", 2),
        ("name", 2),
        ("schedule", 3),
        ("schedule.cron", 4),
        ("schedule.changed[1].at", 7),
        ("schedule.changed[2].at", 5),
        ("schedule.jitter", 3),
        ("target.url", 8),
        ("target.body", 9),
        ("priority", 2),
    ],
)
def test_a_field_is_found_by_its_path(text: str, field: str, line: int) -> None:
    (tree,) = read_trees(text)
    job: Node = tree.value["jobs"].value[0]
    found = job.line_of(field)
    assert found == (line + 1 if text is JSON and line >= 8 else line)


def test_several_documents() -> None:
    assert [tree.plain for tree in read_trees("a: 1\n---\n---\nb: 2\n")] == [{"a": 1}, None, {"b": 2}]
    assert read_trees("# nothing\n") == []
    assert [(tree.plain, tree.line) for tree in read_trees("\ufeffa: 1")] == [({"a": 1}, 1)]


def test_flow_yaml_is_not_taken_for_json() -> None:
    assert read("{a: on, b: [1, no]}") == {"a": "on", "b": [1, "no"]}
    assert read("[{a: 1}]") == [{"a": 1}]


@given(VALUES)
def test_json_is_read_as_json(value: Any) -> None:
    for text in (json.dumps({"a": value}), json.dumps([value], indent="\t", ensure_ascii=False)):
        (tree,) = read_trees(text, is_json=True)
        assert json.dumps(tree.plain) == json.dumps(json.loads(text))


@given(VALUES)
def test_what_is_written_is_read_again(value: Any) -> None:
    assert json.dumps(read(to_yaml([{"a": value}]))) == json.dumps({"a": value})
