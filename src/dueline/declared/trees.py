"""YAML and JSON, read as trees that know their lines.

Jobs are JSON, so scalars are what JSON would have: `true`, `false`, `null` and numbers. Everything else is text, whatever other readers of
YAML make of it: `on`, `no`, `2026-03-29`, `0 9 * * *`, `0o17`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from dueline.domain import limits
from dueline.domain.errors import DuelineError

NODES_MAX = 2_000_000
"""An alias stands for as much as it names: a few lines of them could be more than any memory holds."""
DEPTH_MAX = limits.JSON_DEPTH_MAX + 10
"""A payload may be so deep, and it stands within a target, a job, a list and a document."""
_INTEGERS = range(-(2**63), 2**64)
"""What JSON of a server holds without loss."""
_TAG = "tag:yaml.org,2002:"
_TEXT, _LIST, _OBJECT = f"{_TAG}str", f"{_TAG}seq", f"{_TAG}map"
_NULL, _TRUTH, _NUMBER = f"{_TAG}null", f"{_TAG}bool", f"{_TAG}float"
_MERGE = "<<"
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?\Z", re.ASCII)
_TOKEN = re.compile(r'[ \t\r\n]*("(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+)', re.DOTALL)
_HALF = re.compile(r"[\ud800-\udfff]")
_STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")
_FALLBACK = yaml.SafeLoader

_Loader: Any = type("_Loader", (getattr(yaml, "CSafeLoader", _FALLBACK),), {"yaml_implicit_resolvers": {}})
_Loader.add_implicit_resolver(_NULL, re.compile(r"(?:null|~|)\Z"), ["n", "~", ""])
_Loader.add_implicit_resolver(_TRUTH, re.compile(r"(?:true|false)\Z"), ["t", "f"])
_Loader.add_implicit_resolver(_NUMBER, NUMBER, list("-0123456789"))


class Misread(DuelineError):
    """A text that is neither YAML nor JSON, or not what jobs can be written in."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class Node(msgspec.Struct, frozen=True):
    """A value, and the line where it stands. Lists hold nodes, and so do objects."""

    value: Any
    line: int

    @property
    def plain(self) -> Any:
        """The value as JSON has it."""
        if isinstance(self.value, list):
            return [inner.plain for inner in self.value]
        if isinstance(self.value, dict):
            return {name: inner.plain for name, inner in self.value.items()}
        return self.value

    def line_of(self, field: str) -> int:
        """Where a field stands that is named by its path (`schedule.changed[0].at`): as near as there is something."""
        node = self
        for index, name in _STEP.findall(field):
            if name and isinstance(node.value, dict) and name in node.value:
                node = node.value[name]
            elif index and isinstance(node.value, list) and int(index) < len(node.value):
                node = node.value[int(index)]
            else:
                break
        return node.line


def read_trees(text: str, *, is_json: bool = False) -> list[Node]:
    """The documents of a text, or Misread. What begins as JSON and is JSON is read as that."""
    text = text.removeprefix("\ufeff")
    if is_json or text.lstrip().startswith(("{", "[")):
        try:
            json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
        except json.JSONDecodeError as error:
            if is_json:
                raise Misread(error.lineno, f"is not JSON: {error.msg}, at column {error.colno}") from None
        except RecursionError:
            raise _too_deep(1) from None
        else:
            return [_JsonReading(text).value()]
    try:
        reading = _YamlReading()
        return [reading.node(document) for document in yaml.compose_all(text, Loader=_Loader) if document is not None]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Misread(1 if mark is None else mark.line + 1, f"is not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise Misread(1, f"is not YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise _too_deep(1) from None


class _YamlReading:
    """One text on its way from YAML to nodes."""

    def __init__(self) -> None:
        self._count = 0
        self._open: set[int] = set()

    def node(self, found: yaml.Node) -> Node:
        line = found.start_mark.line + 1
        self._count += 1
        if self._count > NODES_MAX:
            raise Misread(line, f"stands for more than {NODES_MAX} values, with all that its aliases repeat")
        if isinstance(found, yaml.ScalarNode):
            return Node(_scalar(found.tag, found.value, line), line)
        if id(found) in self._open:
            raise Misread(line, "holds itself by an alias")
        if len(self._open) == DEPTH_MAX:
            raise _too_deep(line)
        self._open.add(id(found))
        try:
            if isinstance(found, yaml.SequenceNode) and found.tag == _LIST:
                return Node([self.node(inner) for inner in found.value], line)
            if isinstance(found, yaml.MappingNode) and found.tag == _OBJECT:
                return Node(self._members(found), line)
        finally:
            self._open.discard(id(found))
        raise Misread(line, f"the tag {found.tag} has no meaning here")

    def _members(self, found: yaml.MappingNode) -> dict[str, Node]:
        own: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        for key, value in found.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise Misread(line, "the name of a member must be text")
            if key.value == _MERGE and not key.style:
                for name, inner in self._merged(value):
                    merged.setdefault(name, inner)
                continue
            if key.value in own:
                raise Misread(line, f"{key.value!r} is given twice")
            own[key.value] = msgspec.structs.replace(self.node(value), line=line)
        return merged | own

    def _merged(self, found: yaml.Node) -> Iterator[tuple[str, Node]]:
        """The members that `<<` takes from others; of two that say the same, the first counts."""
        node = self.node(found)
        for one in node.value if isinstance(node.value, list) else [node]:
            if not isinstance(one.value, dict):
                raise Misread(node.line, f"{_MERGE} takes an object, or a list of them")
            yield from one.value.items()


class _JsonReading:
    """A text that is known to be JSON, on its way to nodes."""

    def __init__(self, text: str) -> None:
        self._tokens = self._scan(text)
        self._depth = 0

    def value(self) -> Node:
        return self._value(*next(self._tokens))

    def _value(self, token: str, line: int) -> Node:
        if token in ("{", "["):
            if self._depth == DEPTH_MAX:
                raise _too_deep(line)
            self._depth += 1
            found = Node(self._members() if token == "{" else self._items(), line)
            self._depth -= 1
            return found
        if token.startswith('"'):
            return Node(_json_text(token, line), line)
        return Node(_number(token, line) if NUMBER.match(token) else json.loads(token), line)

    def _members(self) -> dict[str, Node]:
        members: dict[str, Node] = {}
        for token, line in self._tokens:
            if token == "}":
                break
            if token == ",":
                continue
            name = _json_text(token, line)
            if name in members:
                raise Misread(line, f"{name!r} is given twice")
            next(self._tokens)
            members[name] = msgspec.structs.replace(self.value(), line=line)
        return members

    def _items(self) -> list[Node]:
        items: list[Node] = []
        for token, line in self._tokens:
            if token == "]":
                break
            if token != ",":
                items.append(self._value(token, line))
        return items

    def _scan(self, text: str) -> Iterator[tuple[str, int]]:
        line, place = 1, 0
        while (found := _TOKEN.match(text, place)) is not None:
            line += text.count("\n", place, found.start(1))
            place = found.end()
            yield found[1], line


def _json_text(token: str, line: int) -> str:
    text: str = json.loads(token)
    if _HALF.search(text):
        raise Misread(
            line, "holds half of a character, which cannot be sent: write both halves, or the character itself"
        )
    return text


def _scalar(tag: str, text: str, line: int) -> Any:
    if tag == _TEXT:
        return text
    if tag == _NULL:
        return None
    if tag == _TRUTH and text in ("true", "false"):
        return text == "true"
    if tag in (_NUMBER, f"{_TAG}int") and NUMBER.match(text):
        return _number(text, line)
    raise Misread(line, f"{text!r} with the tag {tag} has no meaning here")


def _number(text: str, line: int) -> int | float:
    """A number as JSON has it: whole ones are of any size that a server can hold."""
    if text.lstrip("-").isdigit():
        if len(text) > 20 or int(text) not in _INTEGERS:
            raise Misread(line, f"{text[:32]} is too large a number: write it as text, in quotes")
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise Misread(line, f"{text[:32]} is too large a number: write it as text, in quotes")
    return number


def _too_deep(line: int) -> Misread:
    return Misread(line, f"is nested more than {DEPTH_MAX} deep")


def _refuse_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no number", name, 0)
