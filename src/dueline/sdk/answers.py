"""Answers, read into the shapes that server and client share.

A server may be newer than this program, or older. What it says beyond what is known here is passed over, what it does not say
is None, and a word that is new (a state, a reason) stays the text that it is.
"""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, cast, get_args, get_origin

import msgspec
from msgspec import UnsetType

from dueline.wire.reading import decode, decoder_of

T = TypeVar("T")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    """Names are in lower case."""
    body: bytes


def read_answer(answer: Answer, kind: type[T]) -> T:
    """The body of an answer; raises Unreadable when it is not JSON."""
    if kind is NoneType or (kind is Any and not answer.body):
        return cast(T, None)
    if kind is str:
        return cast(T, answer.body.decode("utf-8", "replace"))
    try:
        return cast(T, decoder_of(cast(Any, kind)).decode(answer.body))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return cast(T, _fitted(decode(answer.body), kind))


def read_plain(answer: Answer, *, is_text: bool) -> Any:
    """The body of an answer as it was sent: JSON, text, or None where there is none."""
    if is_text:
        return answer.body.decode("utf-8", "replace")
    return decode(answer.body) if answer.body else None


def _fitted(value: Any, kind: Any) -> Any:
    """A value in the shape of a type, as far as it goes."""
    options = _options(kind)
    structs = [option for option in options if _struct(option) is not None]
    if isinstance(value, dict) and structs:
        struct = _told_apart(value, structs)
        return value if struct is None else _fitted_struct(value, struct)
    for option in options:
        origin, parts = get_origin(option), get_args(option)
        if isinstance(value, list) and origin in (list, tuple):
            return origin(_fitted(inner, parts[0]) for inner in value)
        if isinstance(value, dict) and origin is dict:
            return {name: _fitted(inner, parts[1]) for name, inner in value.items()}
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return value


def _fitted_struct(value: dict[str, Any], kind: Any) -> Any:
    struct = _struct(kind)
    assert struct is not None, "only structs are asked for"
    arguments: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in value:
            arguments[field.name] = _fitted(value[field.encode_name], field.type)
        elif field.required:
            arguments[field.name] = None
    return struct(**arguments)


def _told_apart(value: dict[str, Any], structs: list[Any]) -> Any:
    """Which of several structs a value is, by its tag; None for one that is not known here."""
    for option in structs:
        # A struct with parameters of its own has no tag, and stands behind an alias.
        config = getattr(option, "__struct_config__", None)
        if config is None or config.tag is None or value.get(config.tag_field) == config.tag:
            return option
    return None


def _struct(kind: Any) -> type[msgspec.Struct] | None:
    bare = get_origin(kind) or kind
    return bare if isinstance(bare, type) and issubclass(bare, msgspec.Struct) else None


def _options(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, UnionType):
        return tuple(option for option in get_args(kind) if option is not UnsetType)
    return (kind,)
