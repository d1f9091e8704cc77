"""Texts with places for what is known of a run only when it starts: `{{run.id}}`.

A text is compiled once for a version of a job and filled for each run. What is put in is encoded for where it stands: it cannot leave
the string, the line or the part of the URL that it was put into.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

NAMES = frozenset({"run.id", "run.attempt", "run.scheduled_at", "run.kind", "job.id", "job.name", "tenant"})
OF_A_JOB = frozenset({"job.id", "job.name"})
"""What a run without a job has nothing to say for."""
SAMPLE: Mapping[str, str] = {
    "run.id": "run_00000000000000000000000000",
    "run.attempt": "1",
    "run.scheduled_at": "2026-01-01T00:00:00.000Z",
    "run.kind": "scheduled",
    "job.id": "job_00000000000000000000000000",
    "job.name": "name",
    "tenant": "tenant",
}
"""Values like those of a run, to look at a text before there is one."""

_RESERVED = "secrets."
_PLACE = re.compile(r"\{\{ *((?:run|job|secrets|tenant)\.[^{}\s\"]*|tenant) *\}\}")
_KNOWN = re.compile(r"\{\{ *(" + "|".join(map(re.escape, sorted(NAMES))) + r"|secrets\.[A-Za-z0-9_]+) *\}\}")
_RESERVED_LETTER = re.compile(r"[^A-Za-z0-9._~-]")
_UNSENDABLE = re.compile(r"[^ -~]")
_json = msgspec.json.Encoder()

Encode = Callable[[str], str]


class Template(msgspec.Struct, frozen=True):
    """A text with `%s` where the values of `names` go, in their order."""

    text: str
    names: tuple[str, ...]
    encode: Encode

    def fill(self, values: Mapping[str, str]) -> str:
        """The text with its values. Raises KeyError with the name of one that is missing."""
        encode = self.encode
        return self.text % tuple([encode(values[name]) for name in self.names])


def compile_template(text: str, encode: Encode) -> Template | None:
    """The template that a text is, or None: then it stands as it is, and costs nothing more."""
    pieces = _KNOWN.split(text) if "{{" in text else []
    if len(pieces) <= 1:
        return None
    return Template("%s".join([piece.replace("%", "%%") for piece in pieces[::2]]), tuple(pieces[1::2]), encode)


def template_problems(text: str, *, has_job: bool = True) -> Iterator[str]:
    """Why places of a text cannot be filled, each with where it stands. Braces that are no place of ours are nobody's business."""
    if "{{" not in text:
        return
    for place in _PLACE.finditer(text):
        name = place[1]
        where = f"{{{{{name[:64]}}}}} at letter {place.start() + 1}"
        if name.startswith(_RESERVED):
            yield f"{where} is reserved: secrets cannot be put into calls yet"
        elif name not in NAMES:
            yield f"{where} is unknown; known are {', '.join(sorted(NAMES))}"
        elif name in OF_A_JOB and not has_job:
            yield f"{where} has no value: a run without a job has none"


def texts_in(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value with the path to it, names of members included: a member's name stands at its own path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}", name
            yield from texts_in(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts_in(inner, f"{path}[{index}]")


def as_text(value: str) -> str:
    """For a body of text: as it stands."""
    return value


def in_json(value: str) -> str:
    """For the inside of a JSON string."""
    return _json.encode(value).decode()[1:-1]


def in_url(value: str) -> str:
    """For any part of a URL: whatever could mean something there is percent-encoded."""
    return _RESERVED_LETTER.sub(lambda letter: "".join([f"%{byte:02X}" for byte in letter[0].encode()]), value)


def in_header(value: str) -> str:
    """For the value of a header, which is one line of ASCII: other letters are percent-encoded."""
    return _UNSENDABLE.sub(lambda letter: in_url(letter[0]), value)
