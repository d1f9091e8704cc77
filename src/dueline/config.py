"""Settings, and the only reader of the environment: defaults < TOML file < `DUELINE_…` variables < flags.

What is unknown is refused, and every value remembers where it came from.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dueline.domain import limits
from dueline.domain.addresses import Network, read_network
from dueline.domain.errors import Invalid
from dueline.domain.lanes import RESERVED
from dueline.domain.urls import without_password

PREFIX = "DUELINE_"
CONFIG_VARIABLE = "DUELINE_CONFIG"
PROFILE_VARIABLE = "DUELINE_PROFILE"
SECRETS = frozenset({"api_key", "admin_key"})
"""Settings that are never shown."""
_SLOTS_CEILING = 100_000
_THREADS_CEILING = 10_000
_PROCESSES_CEILING = 1_000
_SHARE_LEAST = 0.01
_DRAIN_S_CEILING = 3_600.0
_RATE_LEAST = 0.01
_RATE_CEILING = 100_000.0
_QUEUE = re.compile(rf"[A-Za-z0-9._-]{{1,{limits.QUEUE_LETTERS_MAX}}}")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting, checked. `origins` says for each where its value came from."""

    host: str
    port: int
    health_port: int
    db: str
    queues: tuple[str, ...]
    labels: tuple[str, ...]
    slots: int
    app: str
    threads: int
    processes: int
    host_share: float
    drain_s: float
    recovery: str
    recovery_rate: float
    history_days: int
    finished_job_days: int
    log_level: str
    log_form: str
    url: str
    api_key: str | None
    admin_key: str | None
    key_dir: Path
    payload_bytes_max: int
    private_targets: str
    target_allow: tuple[Network, ...]
    target_deny: tuple[Network, ...]
    origins: dict[str, str]


class Profile(NamedTuple):
    """What the command knows of one of several servers, by the names of settings."""

    name: str
    values: Mapping[str, Any]

    @property
    def origin(self) -> str:
        return f"profile {self.name}"


def load_settings(
    flags: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    profile: Profile | None = None,
) -> Settings:
    """The settings of this process, or Invalid with everything that is wrong with them. `flags` are named like settings. A `profile`
    counts for more than the file, and for less than the environment."""
    variables = os.environ if environ is None else environ
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = _defaults(variables)
    origins = dict.fromkeys(values, "default")
    file_origin, file_values = _read_file(variables)
    sources: list[tuple[str, Mapping[str, Any], Callable[[str], str]]] = [
        (file_origin, file_values, str),
        *([] if profile is None else [(profile.origin, profile.values, str)]),
        ("environment", _read_variables(variables), _variable),
        ("flag", dict(flags or {}), _flag),
    ]
    for origin, given, spell in sources:
        for name, raw in given.items():
            if name not in _READERS:
                problems.append((spell(name), _unknown_reason(spell(name), [spell(known) for known in _READERS])))
                continue
            try:
                values[name] = _READERS[name](raw)
            except ValueError as error:
                problems.append((spell(name), f"{error} ({origin})"))
            origins[name] = origin
    if problems:
        raise Invalid(*problems)
    return Settings(**values, origins=origins)


def shown(settings: Settings, name: str) -> str:
    """A setting's value for people to read, without secrets."""
    value = getattr(settings, name)
    if value is None:
        return ""
    if name in SECRETS:
        return "***"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return without_password(str(value))


def names() -> list[str]:
    """Every setting."""
    return list(_READERS)


def profile_file() -> Path:
    """Where the command keeps its profiles."""
    return _user_dir(os.environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def profile_asked() -> str | None:
    """The profile that the environment names, if it names one."""
    return os.environ.get(PROFILE_VARIABLE) or None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens on `host`; ValueError if that is not an address."""
    return host == "localhost" or ip_address(host).is_loopback


def checked_url(text: str, *, field: str = "server") -> str:
    """The address of a server, as `--server` gives it, or Invalid."""
    try:
        return _url(text)
    except ValueError as error:
        raise Invalid((field, str(error))) from None


def checked_key(text: str, *, field: str) -> str:
    """A key, or Invalid. The key itself is not told."""
    try:
        return _key(text)
    except ValueError as error:
        raise Invalid((field, str(error))) from None


def _defaults(variables: Mapping[str, str]) -> dict[str, Any]:
    return {
        "host": "127.0.0.1",
        "port": 8700,
        "health_port": 0,
        "db": str(_user_dir(variables, "XDG_DATA_HOME", ".local/share") / "dueline.db"),
        "queues": (),
        "labels": (),
        "slots": limits.SLOTS_DEFAULT,
        "app": "",
        "threads": limits.TASK_THREADS_DEFAULT,
        "processes": 0,
        "host_share": limits.HOST_SHARE,
        "drain_s": limits.DRAIN_S,
        "recovery": "auto",
        "recovery_rate": limits.RECOVERY_RATE_DEFAULT,
        "history_days": limits.HISTORY_DAYS_DEFAULT,
        "finished_job_days": limits.FINISHED_JOB_DAYS_DEFAULT,
        "log_level": "info",
        "log_form": "text",
        "url": "http://127.0.0.1:8700",
        "api_key": None,
        "admin_key": None,
        "key_dir": _user_dir(variables, "XDG_DATA_HOME", ".local/share") / "keys",
        "payload_bytes_max": limits.PAYLOAD_BYTES_MAX,
        "private_targets": "auto",
        "target_allow": (),
        "target_deny": (),
    }


def _user_dir(variables: Mapping[str, str], name: str, fallback: str) -> Path:
    """Our folder in one of the user's base folders. A relative one is ignored, as its specification asks."""
    base = Path(variables.get(name, ""))
    return (base if base.is_absolute() else Path.home() / fallback) / "dueline"


def _read_file(variables: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Where the file is, and what it holds. One that was asked for must exist; the user's own may be missing."""
    asked = variables.get(CONFIG_VARIABLE)
    path = Path(asked) if asked else _user_dir(variables, "XDG_CONFIG_HOME", ".config") / "dueline.toml"
    try:
        return str(path), tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if asked:
            raise Invalid((CONFIG_VARIABLE, f"there is no file {asked}")) from None
        return str(path), {}
    except OSError as error:
        raise Invalid((CONFIG_VARIABLE, f"cannot read {path}: {error.strerror}")) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Invalid((CONFIG_VARIABLE, f"{path} is not TOML: {error}")) from None


def _read_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """Our variables by the names of their settings. An empty one counts as unset."""
    return {
        variable.removeprefix(PREFIX).lower(): value
        for variable, value in variables.items()
        if variable.startswith(PREFIX) and variable not in (CONFIG_VARIABLE, PROFILE_VARIABLE) and value
    }


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _flag(name: str) -> str:
    # A flag is repeated for each of several values.
    return "--queues" if name == "queues" else "--" + name.replace("_", "-")


def _unknown_reason(spelt: str, known: list[str]) -> str:
    near = get_close_matches(spelt, known, n=1)
    return f"there is no such setting: did you mean {near[0]}?" if near else "there is no such setting"


def _host(raw: Any) -> str:
    host = _text(raw)
    try:
        is_loopback(host)
    except ValueError:
        raise ValueError(f"{host!r} is not an address such as 127.0.0.1") from None
    return host


def _db(raw: Any) -> str:
    address = _text(raw)
    scheme, separator, _ = address.partition("://")
    if separator and scheme not in ("sqlite", "postgresql", "postgres"):
        raise ValueError(f"{scheme}:// is not known: use postgresql://…, sqlite:///path, or a file path")
    return address


def _queues(raw: Any) -> tuple[str, ...]:
    # A flag may be repeated, and each may name several.
    queues = [
        queue for part in _parts(raw, "queues") for queue in (part.split(",") if isinstance(part, str) else [part])
    ]
    for queue in queues:
        if not isinstance(queue, str) or not _QUEUE.fullmatch(queue):
            raise ValueError(f"{queue!r} is not the name of a queue: use the letters A-Z a-z 0-9 . _ -")
    return tuple(dict.fromkeys(queues))


def _networks(raw: Any) -> tuple[Network, ...]:
    parts = _parts(raw, "addresses and networks")
    # Numbers would be read as addresses.
    return tuple(dict.fromkeys(read_network(_text(part)) for part in parts))


def _parts(raw: Any, what: str) -> list[Any]:
    """The values of a list, or of a text with commas between them."""
    if isinstance(raw, str):
        return [part.strip() for part in raw.split(",")]
    if not isinstance(raw, list | tuple):
        raise ValueError(f"must be a list of {what}")
    return list(raw)


def _labels(raw: Any) -> tuple[str, ...]:
    labels = _parts(raw, "labels")
    for label in labels:
        if not isinstance(label, str) or not _QUEUE.fullmatch(label):
            raise ValueError(f"{label!r} is not a label: use the letters A-Z a-z 0-9 . _ -")
        if label in RESERVED:
            raise ValueError(f"{label!r} is a label that Dueline gives itself")
    return tuple(sorted(set(labels)))


def _url(raw: Any) -> str:
    url = _text(raw)
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", url):
        raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8700")
    return url.rstrip("/")


def _key(raw: Any) -> str:
    key = _text(raw)
    if not re.fullmatch(r"[!-~]{1,512}", key):
        raise ValueError("must be plain ASCII without spaces")
    return key


def _text(raw: Any) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError("must be text")
    return raw


def _whole(least: int, most: int) -> Callable[[Any], int]:
    def read(raw: Any) -> int:
        try:
            value = int(raw) if isinstance(raw, str) else raw
        except ValueError:
            value = None
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"must be a whole number between {least} and {most}")
        return value

    return read


def _number(least: float, most: float, unit: str) -> Callable[[Any], float]:
    def read(raw: Any) -> float:
        try:
            value = float("nan") if isinstance(raw, bool) else float(raw)
        except (TypeError, ValueError):
            value = float("nan")
        if not least <= value <= most:
            raise ValueError(f"must be a number of {unit} between {least:g} and {most:g}")
        return value

    return read


def _choice(*choices: str) -> Callable[[Any], str]:
    def read(raw: Any) -> str:
        if not isinstance(raw, str) or raw.lower() not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return raw.lower()

    return read


_READERS: dict[str, Callable[[Any], Any]] = {
    "host": _host,
    "port": _whole(0, 65_535),
    "health_port": _whole(0, 65_535),
    "db": _db,
    "queues": _queues,
    "labels": _labels,
    "slots": _whole(1, _SLOTS_CEILING),
    "app": _text,
    "threads": _whole(1, _THREADS_CEILING),
    "processes": _whole(0, _PROCESSES_CEILING),
    "host_share": _number(_SHARE_LEAST, 1, "slots out of one"),
    "drain_s": _number(0, _DRAIN_S_CEILING, "seconds"),
    "recovery": _choice("auto", "hold"),
    "recovery_rate": _number(_RATE_LEAST, _RATE_CEILING, "runs a second"),
    "history_days": _whole(1, limits.HISTORY_DAYS_MAX),
    "finished_job_days": _whole(1, limits.HISTORY_DAYS_MAX),
    "log_level": _choice("debug", "info", "warning", "error"),
    "log_form": _choice("text", "json"),
    "url": _url,
    "api_key": _key,
    "admin_key": _key,
    "key_dir": lambda raw: Path(_text(raw)),
    "payload_bytes_max": _whole(1, limits.PAYLOAD_BYTES_CEILING),
    "private_targets": _choice("auto", "allow", "deny"),
    "target_allow": _networks,
    "target_deny": _networks,
}
