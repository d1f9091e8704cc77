"""The client that commands use: which server it talks to, with which key; and the files that commands read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from dueline.cli.later import Later
from dueline.cli.profile_file import read_profiles
from dueline.config import Profile, Settings, checked_key, checked_url, load_settings, profile_asked, profile_file
from dueline.domain.errors import Invalid
from dueline.runtime.keyfiles import find_key
from dueline.wire.reading import Unreadable, decode

if TYPE_CHECKING:
    from dueline.sdk import client as sdk
    from dueline.sdk import retries
    from dueline.sdk.drivers import PlainListing
else:
    sdk, retries = Later("dueline.sdk.client"), Later("dueline.sdk.retries")

_EVERYTHING = 500
"""As many as a page may have."""


class Choice(NamedTuple):
    """What stands before the command: `dueline --profile production job list`."""

    profile: str | None = None
    server: str | None = None
    api_key: str | None = None


_CHOICE = ContextVar("choice", default=Choice())  # noqa: B039 - a tuple of texts never changes.


def choose(choice: Choice) -> None:
    """Have the commands of this call talk to a server."""
    _CHOICE.set(choice)


def connect(*, timeout_s: float | None = None) -> sdk.PlainClient:
    """A client for the server that was chosen. Whoever types a command decides whether to try it again."""
    settings = client_settings()
    return sdk.PlainClient(
        settings.url,
        api_key=resolve_api_key(settings) or "",
        timeout_s=timeout_s or sdk.TIMEOUT_S_DEFAULT,
        retry=retries.NEVER,
    )


def client_settings() -> Settings:
    """The settings as commands see them: options over the environment, over the profile, over the file and the defaults."""
    choice = _CHOICE.get()
    server = None if choice.server is None else checked_url(choice.server, field="--server")
    given = {"url": server, "api_key": choice.api_key}
    flags = {name: value for name, value in given.items() if value is not None}
    return load_settings(flags, profile=chosen_profile())


def resolve_api_key(settings: Settings) -> str | None:
    """The key that goes with every call, or None. All that finds a key by itself has its home here.

    The key of a profile goes to the server of that profile alone: who names another server names its key too.
    """
    profile = chosen_profile()
    from_profile = profile is not None and settings.origins["api_key"] == profile.origin
    if profile is not None and from_profile and settings.url != profile.values["url"].rstrip("/"):
        return None
    return settings.api_key or find_key(settings.key_dir, settings.url)


def chosen_profile() -> Profile | None:
    """The profile that the option names, or the environment, or the file as the current one."""
    profiles = read_profiles(profile_file())
    name = _CHOICE.get().profile or profile_asked() or profiles.current
    return None if name is None else profiles.get(name)


def read_key(path: Path, *, field: str = "--api-key-file") -> str:
    """The key in a file, or on standard input for `-`: not on the command line, where everybody can read it."""
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Invalid((field, f"cannot read {path} as text")) from None
    return checked_key(text.strip(), field=field)


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
