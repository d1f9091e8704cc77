"""The client that commands use, and the files that they read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from dueline.domain.errors import Invalid
from dueline.sdk.client import PlainClient
from dueline.sdk.drivers import PlainListing
from dueline.sdk.retries import NEVER
from dueline.wire.reading import Unreadable, decode

_EVERYTHING = 500
"""As many as a page may have."""


def connect() -> PlainClient:
    """A client for the server that the settings name. Whoever types a command decides whether to try it again."""
    return PlainClient(retry=NEVER)


def read_page(
    listing: Callable[..., PlainListing], *, limit: int | None, cursor: str | None, everything: bool, **filters: Any
) -> dict[str, Any]:
    """One page of a list, or all of them as one. Where few of very many match, pages may be empty: the first that is not is read."""
    if everything:
        return {"items": [*listing(**filters, page_size=limit or _EVERYTHING)], "next_cursor": None}
    asked = listing(**filters, page_size=limit)
    page = asked.page(cursor)
    while not page["items"] and page["next_cursor"] is not None:
        page = asked.page(page["next_cursor"])
    return page


def read_object(path: Path | None) -> dict[str, Any]:
    """The JSON object in a file, or on standard input for `-`; empty without a file."""
    if path is None:
        return {}
    try:
        value = decode(sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise Invalid(("--file", f"cannot read {path}: {error.strerror}")) from None
    except Unreadable as error:
        raise Invalid(("--file", f"{path}: {error}")) from None
    if not isinstance(value, dict):
        raise Invalid(("--file", f"{path} must hold a JSON object"))
    return value


def read_payload(text: str, *, hint: str = "--body") -> Any:
    """What `--body` means: `@file` is a file's text; a JSON object or list is JSON; anything else is text."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise typer.BadParameter(f"cannot read {text[1:]} as UTF-8 text", param_hint=hint) from None
    if text.lstrip().startswith(("{", "[")):
        try:
            return decode(text.encode())
        except Unreadable:
            return text
    return text
