"""The headers of a response that are kept: few, short, and without anything that a reader could take for a command."""

import re
from collections.abc import Iterable

from dueline.domain import limits

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def pick_headers(lines: Iterable[bytes], names: frozenset[str]) -> dict[str, str]:
    """Those of some header lines that have these names, in lower case. Of several responses (100, 103) the last counts."""
    picked: dict[str, str] = {}
    for line in lines:
        if line.startswith(b"HTTP/"):
            picked.clear()
            continue
        raw_name, _, value = line.partition(b":")
        name = raw_name.decode("latin-1").lower()
        if name in names:
            text = clean_value(value)
            picked[name] = f"{picked[name]}, {text}"[: limits.RESPONSE_HEADER_LETTERS_MAX] if name in picked else text
    return picked


def clean_value(value: bytes) -> str:
    text = value.decode("latin-1")
    if not (text.isascii() and text.isprintable()):
        text = _CONTROL.sub("", text)
    return text.strip()[: limits.RESPONSE_HEADER_LETTERS_MAX]
