"""Text from elsewhere, made fit to be kept and shown."""

from __future__ import annotations

import re

import msgspec

from dueline.domain import limits

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Letters that nobody sees and that stores and terminals read as commands; lone surrogates cannot be written as UTF-8."""
_BEGINNING_LETTERS = 8 * 1024
"""What is shown of a result that is too large."""


def clean_text(text: str) -> str:
    """Text that every store can keep: NULs and what is no UTF-8 are spelt out."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def kept_result(encoded: bytes) -> str:
    """The JSON of a result as it is kept. One that is too large is told by its beginning: what did its work is not failed for it."""
    if len(encoded) > limits.RESPONSE_KEPT_BYTES:
        beginning = encoded[:_BEGINNING_LETTERS].decode(errors="ignore")
        encoded = msgspec.json.encode({"too_large": True, "bytes": len(encoded), "beginning": beginning})
    return encoded.decode()
