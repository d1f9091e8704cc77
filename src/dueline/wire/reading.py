"""From JSON to a request: at full speed when it is right, field by field when it is not, so that every problem is told."""

from __future__ import annotations

import re
from difflib import get_close_matches
from enum import Enum
from functools import lru_cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import FieldInfo

from dueline.domain.errors import DuelineError
from dueline.wire.problems import Problems

T = TypeVar("T", bound=msgspec.Struct)

WHOLE = "body"
"""The field to name when the request as a whole is wrong."""

_encoder = msgspec.json.Encoder()
_EXPECTED = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Unreadable(DuelineError):
    """The body is not JSON, so nothing can be said about its fields."""


def encode(value: Any) -> bytes:
    """JSON of anything that is sent."""
    return _encoder.encode(value)


def decode(raw: bytes | msgspec.Raw) -> Any:
    """Plain JSON, whatever its shape."""
    return _decode(raw, _any_decoder)


def read_body(raw: bytes | msgspec.Raw, kind: type[T], problems: Problems) -> T:
    """A request from its bytes. What does not fit is told to `problems`, and is UNSET or its default in the answer."""
    read = read_fast(raw, kind)
    return read_value(decode(raw), kind, problems) if read is None else read


def read_fast(raw: bytes | msgspec.Raw, kind: type[T]) -> T | None:
    """The same where all of it is right; None otherwise."""
    try:
        return cast(T, _decode(raw, decoder_of(kind)))
    except msgspec.ValidationError:
        return None


def read_value(value: Any, kind: type[T], problems: Problems) -> T:
    """The same from JSON that was decoded already."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        if isinstance(value, dict):
            return _gather_struct(value, kind, "", problems)
        problems.add(WHOLE, "must be a JSON object")
        return _gather_struct({}, kind, "", Problems())


def check_names(value: Any, kind: Any, problems: Problems, *, field: str = "") -> None:
    """Tell the names that no such request has, whatever they hold: in a merge patch, null would hide them."""
    struct = _struct_in(kind)
    if struct is None or not isinstance(value, dict):
        return
    prefix = f"{field}." if field else ""
    infos = _infos(struct)
    for name, inner in value.items():
        if name in infos:
            check_names(inner, infos[name].type, problems, field=prefix + name)
        else:
            problems.add(prefix + name, _unknown_reason(name, struct))


@lru_cache
def decoder_of(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


_any_decoder = decoder_of(Any)


def _decode(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[Any]) -> Any:
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError as error:
        if decoder is _any_decoder:
            raise Unreadable(f"the body is not JSON: {error}") from None
        raise
    except msgspec.DecodeError as error:
        if raw == b"":
            raise Unreadable("a body is needed here: send JSON") from None
        raise Unreadable(f"the body is not JSON: {error}") from None
    except UnicodeDecodeError:
        raise Unreadable("the body is not UTF-8") from None
    except RecursionError:
        raise Unreadable("the body is nested too deeply") from None


def _gather_struct(value: dict[str, Any], kind: type[T], field: str, problems: Problems) -> T:
    prefix = f"{field}." if field else ""
    infos = _infos(kind)
    for name in value:
        if name not in infos and not problems.full:
            problems.add(prefix + name, _unknown_reason(name, kind))
    arguments: dict[str, Any] = {}
    for name, info in infos.items():
        if name in value:
            read = _gather(value[name], info.type, prefix + name, problems)
            if read is not UNSET or info.required:
                arguments[info.name] = read
        elif info.required:
            problems.add(prefix + name, "is required")
            arguments[info.name] = UNSET
    # A constructor takes what it is given: UNSET stands for what could not be read.
    return kind(**arguments)


def _gather(value: Any, kind: Any, field: str, problems: Problems) -> Any:
    for option in _options(kind):
        origin, parts = get_origin(option), get_args(option)
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return _gather_struct(value, option, field, problems)
        if isinstance(value, list) and origin in (list, tuple):
            read = _gather_list(value, parts[0], field, problems)
            return read if read is UNSET else origin(read)
        if isinstance(value, dict) and origin is dict:
            read = {name: _gather(inner, parts[1], f"{field}.{name}", problems) for name, inner in value.items()}
            return {name: inner for name, inner in read.items() if inner is not UNSET}
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problems.add(field, _reason(str(error), value, kind))
        return UNSET


def _gather_list(value: list[Any], kind: Any, field: str, problems: Problems) -> Any:
    """The list with every element in its place, or UNSET when one of them has no blank form to stand in for it."""
    read = []
    for index, inner in enumerate(value):
        if problems.full:
            break
        item = _gather(inner, kind, f"{field}[{index}]", problems)
        struct = _struct_in(kind)
        if item is UNSET and struct is not None:
            item = _gather_struct({}, struct, "", Problems())
        read.append(item)
    return UNSET if UNSET in read else read


def _reason(message: str, value: Any, kind: Any) -> str:
    """The library's message in the words of JSON."""
    for option in _options(kind):
        choices: list[Any] = []
        if get_origin(option) is Literal:
            choices = list(get_args(option))
        elif isinstance(option, type) and issubclass(option, Enum):
            choices = [member.value for member in option]
        if choices and isinstance(value, str):
            return f"must be {' or '.join(choices)}, not {value[:64]!r}"
    expected = _EXPECTED.search(message)
    if expected is None:
        return message.partition(" - at ")[0].lower()
    wanted = " or ".join(_WORDS.get(word, word) for word in expected[1].split(" | "))
    return f"must be {wanted}, not {_WORDS.get(expected[2], expected[2])}"


def _unknown_reason(name: str, kind: type[msgspec.Struct]) -> str:
    if name in getattr(kind, "READ_ONLY", ()):
        return "is set by Dueline and cannot be written"
    near = get_close_matches(name[:64], _infos(kind), n=1, cutoff=0.65)
    return f"unknown field: did you mean {near[0]}?" if near else "unknown field"


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    for option in _options(kind):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def _options(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, UnionType):
        return tuple(option for option in get_args(kind) if option is not UnsetType)
    return (kind,)


@lru_cache
def _infos(kind: type[msgspec.Struct]) -> dict[str, FieldInfo]:
    return {info.encode_name: info for info in msgspec.structs.fields(kind)}
