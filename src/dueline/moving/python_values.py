"""What a Python file says, without running it: literals, names of constants, sums of numbers, and a few well-known calls."""

from __future__ import annotations

import ast
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from dueline.domain.errors import Invalid
from dueline.moving.entries import Unconvertible

_DEPTH_MAX = 50
_UTC_NAMES = frozenset({"utc", "UTC", "pytz.utc", "pytz.UTC", "timezone.utc", "datetime.UTC", "datetime.timezone.utc"})
_ZONE_MAKERS = frozenset({"ZoneInfo", "timezone", "gettz"})


class Zone(NamedTuple):
    """A time zone, by its name."""

    name: str


class Reference(NamedTuple):
    """A name that stands for something elsewhere: a function, mostly."""

    name: str


class Call(NamedTuple):
    """A call that is not made."""

    name: str
    args: list[Any]
    keywords: dict[str, Any]
    line: int

    @property
    def last(self) -> str:
        """What is called, without what it is called on."""
        return self.name.rpartition(".")[2]


class Module:
    """A file that was read, and its constants."""

    def __init__(self, text: str) -> None:
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
            raise Invalid(("FILE", f"{line}is not Python 3: {getattr(error, 'msg', error)}")) from None
        self._constants: dict[str, ast.expr] = {}
        for node in self.tree.body:
            if isinstance(node, ast.Assign):
                self._constants |= {target.id: node.value for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
                self._constants[node.target.id] = node.value

    def nodes(self) -> list[ast.stmt | ast.expr]:
        """Every statement and expression, in the order of the file."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt | ast.expr)]
        return sorted(found, key=lambda node: (node.lineno, node.col_offset))

    def meant(self, node: ast.expr) -> ast.expr:
        """What a constant of the file was given, and anything else itself."""
        for _ in range(_DEPTH_MAX):
            if not isinstance(node, ast.Name) or node.id not in self._constants:
                break
            node = self._constants[node.id]
        return node

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """What an expression stands for, or Unconvertible with its line."""
        if depth > _DEPTH_MAX:
            raise Unconvertible(f"line {node.lineno}: is nested too deeply")
        match node:
            case ast.Constant():
                return node.value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return [self.value(part, depth + 1) for part in parts]
            case ast.Set(elts=parts):
                return {self._hashable(part, depth) for part in parts}
            case ast.Dict():
                return self._dict(node, depth)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                number = self.value(node.operand, depth + 1)
                if isinstance(number, int | float):
                    return -number if isinstance(node.op, ast.USub) else number
            case ast.BinOp():
                return self._sum(node, depth)
            case ast.Name(id=name) if name in self._constants:
                return self.value(self._constants[name], depth + 1)
            case ast.Name() | ast.Attribute():
                name = dotted(node)
                return Zone("UTC") if name in _UTC_NAMES else Reference(name)
            case ast.Call():
                return self._call(node, depth)
        raise Unconvertible(f"line {node.lineno}: cannot be known without running it: {_shown(node)}")

    def called(self, node: ast.Call, depth: int = 0) -> Call:
        """A call with the values of its arguments."""
        if any(isinstance(part, ast.Starred) for part in node.args) or any(word.arg is None for word in node.keywords):
            raise Unconvertible(f"line {node.lineno}: cannot be known without running it: {_shown(node)}")
        return Call(
            dotted(node.func),
            [self.value(part, depth + 1) for part in node.args],
            {word.arg: self.value(word.value, depth + 1) for word in node.keywords if word.arg is not None},
            node.lineno,
        )

    def _hashable(self, node: ast.expr, depth: int) -> Any:
        value = self.value(node, depth + 1)
        if not isinstance(value, str | int | float | None):
            raise Unconvertible(f"line {node.lineno}: must be text or a number here: {_shown(node)}")
        return value

    def _dict(self, node: ast.Dict, depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key, part in zip(node.keys, node.values, strict=True):
            if key is None:
                merged = self.value(part, depth + 1)
                if not isinstance(merged, dict):
                    raise Unconvertible(f"line {part.lineno}: cannot be known without running it: **{_shown(part)}")
                found |= merged
            else:
                found[self._hashable(key, depth)] = self.value(part, depth + 1)
        return found

    def _sum(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        lengths = isinstance(left, timedelta) and isinstance(right, timedelta)
        scaled = {timedelta} < {type(left), type(right)} <= {timedelta, int, float}
        try:
            match node.op:
                case ast.Add() if numbers or lengths:
                    return left + right
                case ast.Sub() if numbers or lengths:
                    return left - right
                case ast.Mult() if numbers or scaled:
                    return left * right
                case ast.Div() if numbers:
                    return left / right
                case ast.FloorDiv() if numbers:
                    return left // right
        except (ArithmeticError, ValueError) as error:
            raise Unconvertible(f"line {node.lineno}: {_shown(node)} is no number: {error}") from None
        raise Unconvertible(f"line {node.lineno}: cannot be known without running it: {_shown(node)}")

    def _call(self, node: ast.Call, depth: int) -> Any:
        call = self.called(node, depth)
        plain = {"timedelta": timedelta, "datetime": datetime, "date": date}.get(call.last)
        try:
            if plain is not None:
                words = {name: _as_zone(value) for name, value in call.keywords.items()}
                return plain(*(_as_zone(value) for value in call.args), **words)
            if call.last in _ZONE_MAKERS and len(call.args) == 1 and isinstance(call.args[0], str):
                return Zone(call.args[0])
            if call.name == "dict" and not call.args:
                return call.keywords
            if call.name in ("set", "list", "tuple", "frozenset") and len(call.args) == 1:
                return list(call.args[0])
            if call.name == "range":
                return list(range(*call.args))[:10_000]
        except (TypeError, ValueError, OverflowError) as error:
            raise Unconvertible(f"line {node.lineno}: {_shown(node)}: {error}") from None
        return call


def dotted(node: ast.expr) -> str:
    """The name of something: `app.conf.beat_schedule`. What has none is told as an ellipsis."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return "…"


def _as_zone(value: Any) -> Any:
    if isinstance(value, Zone):
        # Imported late: the zones of other machines are not asked for.
        from dueline.moving.oracles.walls import zone_named

        try:
            zone: tzinfo = UTC if value.name == "UTC" else zone_named(value.name)
        except OSError:
            raise ValueError(f"unknown time zone {value.name!r}") from None
        return zone
    return value


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:60]}…"
