"""Arrays of ids, numbers and texts on their way to PostgreSQL.

A batch travels as a few arrays of hundreds of elements. asyncpg asks every element, in Python, whether it is an array itself, which takes
three times as long as all of this; so the arrays that batches are made of are encoded here. asyncpg lets others encode single values only:
these codecs are put where it keeps its own.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import add
from typing import Any

_HEADER = struct.Struct(">iiIii")
_LENGTH = struct.Struct(">i")
_EMPTY = struct.Struct(">iiI")
_NULL = b"\xff\xff\xff\xff"
_UUID_LENGTH = _LENGTH.pack(16)

_BOOL, _INT2, _INT4, _INT8, _TEXT, _UUID = 16, 21, 23, 20, 25, 2950
_ARRAYS = {_BOOL: 1000, _INT2: 1005, _INT4: 1007, _INT8: 1016, _TEXT: 1009, _UUID: 2951}
"""The numbers of types, which are the same in every PostgreSQL."""
_LAYOUTS = {_BOOL: (1, "?"), _INT2: (2, "h"), _INT4: (4, "i"), _INT8: (8, "q")}
_NAMES = {_BOOL: "_bool", _INT2: "_int2", _INT4: "_int4", _INT8: "_int8", _TEXT: "_text", _UUID: "_uuid"}


def set_array_codecs(connection: Any) -> None:
    """Let a connection encode and decode its arrays here."""
    settings = connection._protocol.get_settings()
    for kind, name in _NAMES.items():
        settings.add_python_codec(
            _ARRAYS[kind], name, "pg_catalog", [], "scalar", _encoder_of(kind), _decoder_of(kind), "binary"
        )


def _encoder_of(kind: int) -> Callable[[Sequence[Any]], bytes]:
    if kind == _UUID:
        return _encode_uuids
    if kind == _TEXT:
        return _encode_texts
    size, letter = _LAYOUTS[kind]

    def encode(values: Sequence[Any]) -> bytes:
        count = len(values)
        if not count:
            return _EMPTY.pack(0, 0, kind)
        if None in values:
            one = struct.Struct(f">i{letter}")
            parts = [_NULL if value is None else one.pack(size, value) for value in values]
            return _HEADER.pack(1, 1, kind, count, 1) + b"".join(parts)
        pairs = [size] * (2 * count)
        pairs[1::2] = values
        return _HEADER.pack(1, 0, kind, count, 1) + _packer(letter, count)(*pairs)

    return encode


@lru_cache(maxsize=1_000)
def _packer(letter: str, count: int) -> Callable[..., bytes]:
    return struct.Struct(">" + f"i{letter}" * count).pack


def _encode_uuids(values: Sequence[bytes | None]) -> bytes:
    if not values:
        return _EMPTY.pack(0, 0, _UUID)
    if None in values:
        parts = [_NULL if value is None else _UUID_LENGTH + value for value in values]
        return _HEADER.pack(1, 1, _UUID, len(values), 1) + b"".join(parts)
    return _HEADER.pack(1, 0, _UUID, len(values), 1) + _UUID_LENGTH + _UUID_LENGTH.join(values)  # type: ignore[arg-type]


def _encode_texts(values: Sequence[str | None]) -> bytes:
    if not values:
        return _EMPTY.pack(0, 0, _TEXT)
    count = len(values)
    texts = [value.encode() for value in values if value is not None]
    lengths = map(_LENGTH.pack, map(len, texts))
    if len(texts) == count:
        parts = [_HEADER.pack(1, 0, _TEXT, count, 1)] * (2 * count + 1)
        parts[1::2], parts[2::2] = lengths, texts
        return b"".join(parts)
    present = map(add, lengths, texts)
    parts = [_NULL if value is None else next(present) for value in values]
    return _HEADER.pack(1, 1, _TEXT, count, 1) + b"".join(parts)


def _decoder_of(kind: int) -> Callable[[bytes], list[Any]]:
    decode_one: Callable[[bytes], Any] = bytes
    if kind == _TEXT:
        decode_one = bytes.decode
    elif kind != _UUID:
        layout = struct.Struct(f">{_LAYOUTS[kind][1]}")
        decode_one = lambda part: layout.unpack(part)[0]  # noqa: E731  # one of three

    def decode(data: bytes) -> list[Any]:
        if len(data) < _HEADER.size:
            return []
        _, has_null, _, count, _ = _HEADER.unpack_from(data)
        if kind == _UUID and not has_null:
            first = _HEADER.size + _LENGTH.size
            return [data[place : place + 16] for place in range(first, first + 20 * count, 20)]
        values = []
        place = _HEADER.size
        for _ in range(count):
            (size,) = _LENGTH.unpack_from(data, place)
            place += _LENGTH.size
            values.append(None if size < 0 else decode_one(data[place : place + size]))
            place += max(size, 0)
        return values

    return decode
