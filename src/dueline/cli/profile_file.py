"""The file in which the command keeps what it knows of several servers. It may hold keys, so nobody else may read it."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from dueline.config import Profile
from dueline.domain.errors import Invalid, NotFound

NAME_LETTERS_MAX = 64
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{NAME_LETTERS_MAX - 1}}}")
_MEMBERS = ("url", "api_key")
_MODE = 0o600


class Profiles(msgspec.Struct, frozen=True):
    """All profiles by name, and the one that commands use when nobody names another."""

    current: str | None
    servers: Mapping[str, Mapping[str, str]]

    def get(self, name: str) -> Profile:
        if name not in self.servers:
            raise NotFound("profile", f"{name}: dueline profile list shows those that there are")
        return Profile(name, self.servers[name])

    def having(self, name: str, values: Mapping[str, str]) -> Profiles:
        """With one more. The first is used from then on."""
        return Profiles(self.current or name, {**self.servers, name: values})

    def using(self, name: str) -> Profiles:
        return Profiles(self.get(name).name, self.servers)

    def without(self, name: str) -> Profiles:
        self.get(name)
        left = {other: values for other, values in self.servers.items() if other != name}
        return Profiles(None if self.current == name else self.current, left)


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise Invalid(
            ("NAME", f"{name!r} is not the name of a profile: use up to {NAME_LETTERS_MAX} of A-Z a-z 0-9 . _ -")
        )
    return name


def read_profiles(path: Path) -> Profiles:
    """What the file holds; nothing where there is none. Invalid names what in it needs correction."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Profiles(None, {})
    except OSError as error:
        raise Invalid((str(path), f"cannot be read: {error.strerror}")) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid((str(path), f"is not TOML: {error}")) from None
    problems = list(_problems(found))
    if problems:
        raise Invalid(*((str(path), reason) for reason in problems))
    return Profiles(found.get("current"), found.get("profiles", {}))


def write_profiles(path: Path, profiles: Profiles) -> None:
    """Take the place of the file at once: whoever reads it meanwhile reads the one before. Only its owner can read it."""
    beside = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "w", encoding="utf-8") as file:
            file.write("\n".join(_lines(profiles)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise Invalid((str(path), f"cannot be written: {error.strerror}")) from None


def is_private(path: Path) -> bool:
    """Whether nobody but its owner can read a file. One that is not there tells nothing."""
    try:
        return not path.stat().st_mode & 0o077
    except OSError:
        return True


def _lines(profiles: Profiles) -> Iterator[str]:
    yield "# Written by dueline profile."
    if profiles.current is not None:
        yield f"current = {_quoted(profiles.current)}"
    for name, values in sorted(profiles.servers.items()):
        yield ""
        yield f"[profiles.{_quoted(name)}]"
        for member, value in values.items():
            yield f"{member} = {_quoted(value)}"


def _quoted(text: str) -> str:
    """TOML takes the strings of JSON, as far as they are made of what names, addresses and keys are made of."""
    return json.dumps(text)


def _problems(found: Mapping[str, Any]) -> Iterator[str]:
    for member in found:
        if member not in ("current", "profiles"):
            yield f"{member} is not known: there are current and profiles"
    profiles = found.get("profiles", {})
    if not isinstance(profiles, dict):
        yield "profiles must be tables, such as [profiles.production]"
        return
    for name, values in profiles.items():
        if not _NAME.fullmatch(name) or not isinstance(values, dict):
            yield f"profiles.{name} must be a table with the name of a profile"
            continue
        yield from (f"profiles.{name}.{member} is not known" for member in values if member not in _MEMBERS)
        if not all(isinstance(value, str) for value in values.values()) or "url" not in values:
            yield f"profiles.{name} must have a url, and may have an api_key, both as text"
    current = found.get("current")
    if current is not None and (not isinstance(current, str) or current not in profiles):
        yield f"current is {current!r}, and there is no such profile"
