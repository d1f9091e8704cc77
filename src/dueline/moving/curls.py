"""Commands that do nothing but call a URL: they become HTTP calls, for which no worker needs a task."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec

from dueline.domain.errors import DuelineError
from dueline.moving.commands import tidied

_SHELL = re.compile(r"[$`\\!~*{}\[\]]")
"""What a shell may make something else of, where it is not quoted."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_IN_QUOTES = frozenset("$`\\!")
"""What it may do that with between double quotes, too."""
_OPERATORS = frozenset("();<>|&")
_SHORT_OF_CURL = {
    "f": "fail", "s": "silent", "S": "show-error", "L": "location", "I": "head", "o": "output", "X": "request",
    "d": "data", "H": "header", "A": "user-agent", "m": "max-time",
}  # fmt: skip
_SHORT_OF_WGET = {"q": "quiet", "O": "output-document"}
_WITHOUT_MEANING = frozenset(
    {"silent", "show-error", "compressed", "no-progress-meter", "no-buffer", "globoff", "quiet"}
)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_FLAGS = _WITHOUT_MEANING | {"fail", "fail-with-body", "location", "head"}
_WITH_VALUE = frozenset({
    "output", "output-document", "request", "data", "data-raw", "data-binary", "json", "header", "user-agent", "max-time",
    "connect-timeout", "url",
})  # fmt: skip
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(\S.*)")
_SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,3})?")


class Called(msgspec.Struct, frozen=True):
    """The call that a command makes. `timeout` is None where it may take as long as it takes."""

    name: str
    target: dict[str, Any]
    timeout: str | None
    notes: list[str]


class _Otherwise(DuelineError):
    """It does something that a call cannot, or that was not understood."""


def read_call(command: str) -> Called | None:
    """The call that a command makes, or None where it is, or may be, anything more."""
    try:
        program, *arguments = _words(command)
        program = program.rpartition("/")[2]
        if program not in ("curl", "wget"):
            return None
        return _Call(program, arguments).read()
    except _Otherwise:
        return None


def _words(command: str) -> list[str]:
    """The words of a command, without where its output goes."""
    if _SHELL.search(_QUOTED.sub(_unsafe, command)):
        raise _Otherwise
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        raise _Otherwise from None
    kept: list[str] = []
    while words:
        word = words.pop(0)
        if word in (">", ">>", "&>") and words[:1] == ["/dev/null"]:
            words.pop(0)
            if kept and kept[-1] in ("1", "2"):
                kept.pop()
        elif word == ">&" and words[:1] == ["1"] and kept and kept[-1] == "2":
            words.pop(0)
            kept.pop()
        elif _OPERATORS.issuperset(word) or word.startswith("#"):
            raise _Otherwise
        else:
            kept.append(word)
    return kept or [""]


def _unsafe(quoted: re.Match[str]) -> str:
    return "" if quoted[0].startswith("'") else "".join(_IN_QUOTES.intersection(quoted[0]))


class _Call:
    def __init__(self, program: str, arguments: list[str]) -> None:
        self._of_curl = program == "curl"
        self._arguments = arguments
        self._urls: list[str] = []
        self._data: list[str] = []
        self._content_type = ""
        self._headers: dict[str, str] = {}
        self._said: dict[str, str] = {}

    def read(self) -> Called:
        for name, value in self._options():
            self._take(name, value)
        if len(self._urls) != 1 or (not self._of_curl and "output-document" not in self._said):
            raise _Otherwise
        url = _understood(self._urls[0])
        target: dict[str, Any] = {"type": "http", "url": self._urls[0], "method": self._method()}
        if "connect-timeout" in self._said:
            target["connect_timeout"] = f"PT{self._said['connect-timeout']}S"
        if self._data:
            target["body"] = "&".join(self._data)
            if "content-type" not in map(str.lower, self._headers):
                self._headers["Content-Type"] = self._content_type
        if self._headers:
            target["headers"] = self._headers
        timeout = f"PT{self._said['max-time']}S" if "max-time" in self._said else None
        return Called(tidied(f"{url.hostname}{url.path}"), target, timeout, self._notes())

    def _options(self) -> Iterator[tuple[str, str]]:
        """Its options by their long names, and its URLs; values of those that have one."""
        left = list(self._arguments)
        while left:
            word = left.pop(0)
            if word.startswith("--"):
                name, equals, value = word[2:].partition("=")
                if name in _WITH_VALUE and not equals:
                    value = _next(left)
                elif name in _FLAGS and equals:
                    raise _Otherwise
                yield name, value
            elif word.startswith("-") and word != "-":
                yield from self._short(word[1:], left)
            else:
                yield "url", word

    def _short(self, letters: str, left: list[str]) -> Iterator[tuple[str, str]]:
        """Letters behind one dash. The rest behind one that takes a value is its value."""
        names = _SHORT_OF_CURL if self._of_curl else _SHORT_OF_WGET
        while letters:
            name = names.get(letters[0], "")
            letters = letters[1:]
            if name in _WITH_VALUE:
                yield name, letters or _next(left)
                return
            yield name, ""

    def _take(self, name: str, value: str) -> None:
        match name:
            case "url":
                self._urls.append(value if "://" in value else f"http://{value}")
            case "data" | "data-raw" | "data-binary" | "json":
                if (value.startswith("@") and name != "data-raw") or "{{" in value:
                    raise _Otherwise
                self._data.append(value)
                self._content_type = "application/json" if name == "json" else "application/x-www-form-urlencoded"
            case "header":
                header = _HEADER.fullmatch(value)
                if header is None or "{{" in value:
                    raise _Otherwise
                self._headers[header[1]] = header[2].strip()
            case "user-agent":
                self._headers["User-Agent"] = value
            case "output" | "output-document":
                if value not in ("-", "/dev/null"):
                    raise _Otherwise
                self._said[name] = value
            case "max-time" | "connect-timeout":
                if not _SECONDS.fullmatch(value) or not float(value):
                    raise _Otherwise
                self._said[name] = value
            case "request" | "fail" | "fail-with-body" | "location" | "head":
                self._said[name] = value
            case _ if name not in _WITHOUT_MEANING:
                raise _Otherwise

    def _method(self) -> str:
        otherwise = "HEAD" if "head" in self._said else "POST" if self._data else "GET"
        method = self._said.get("request", otherwise)
        if method not in _METHODS or (self._data and method in ("GET", "HEAD")):
            raise _Otherwise
        return method

    def _notes(self) -> list[str]:
        notes = []
        if self._of_curl and not {"fail", "fail-with-body"} & self._said.keys():
            notes.append("curl without -f takes every answer for a success; here only 2xx is one: see expected_status")
        if "location" in self._said or not self._of_curl:
            notes.append("redirects are not followed: give the URL that they lead to")
        return notes


def _understood(text: str) -> SplitResult:
    """A URL that means the same to curl and to us: one of braces and brackets is a pattern to it."""
    if set("{}[]") & set(text):
        raise _Otherwise
    try:
        url = urlsplit(text)
    except ValueError:
        raise _Otherwise from None
    if url.scheme not in ("http", "https") or url.fragment or not url.hostname or url.username is not None:
        raise _Otherwise
    return url


def _next(left: list[str]) -> str:
    if not left:
        raise _Otherwise
    return left.pop(0)
