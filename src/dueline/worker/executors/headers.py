"""The headers of a response that are kept: few, short, and without anything that a reader could take for a command."""

import re
from collections.abc import Iterable
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

from dueline.domain import limits
from dueline.runtime.clock import SystemClock

RETRY_AFTER_S_MAX = 21_600
"""As libcurl has it."""

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


def absolute(location: bytes, url: str) -> str:
    """Where a `Location` in a response to `url` leads. What leads nowhere is told as it stands: a target may write what it likes."""
    text = location.decode("latin-1")
    with suppress(ValueError):
        text = urljoin(url, text)
    return clean_value(text.encode("latin-1"))


def retry_after_s(value: bytes, date: bytes) -> int:
    """How long to wait by a `Retry-After`, which has seconds or an instant, of a response of that `Date`; 0 if it does not say."""
    text = value.strip()
    if text.isdigit():
        return min(int(text[:10]), RETRY_AFTER_S_MAX)
    until_s = _instant_s(text)
    if until_s is None:
        return 0
    sent_s = _instant_s(date.strip())
    wait_s = until_s - (SystemClock().wall_ms() / 1000 if sent_s is None else sent_s)
    return min(max(int(wait_s), 0), RETRY_AFTER_S_MAX)


def _instant_s(text: bytes) -> float | None:
    try:
        return parsedate_to_datetime(text.decode("latin-1")).timestamp()
    except (ValueError, OverflowError):
        return None
