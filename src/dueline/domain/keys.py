"""Keys that runs share a limit by: texts with places for what is in the payload, `{{body.customer}}` or `{{args.customer}}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from dueline.domain import limits

_PLACE = re.compile(r"\{\{ *([^{}]*?) *\}\}")
_NAMES = ("job.id", "job.name", "tenant")
_json = msgspec.json.Encoder()
_MISSING = object()


def fill_key(text: str, *, payload: Any, of: str, names: Mapping[str, str]) -> str:
    """The key of one run. `of` is what the payload is called in places. What is not there is empty."""

    def value(place: re.Match[str]) -> str:
        found = _look_up(place[1], payload, of, names)
        return "" if found is _MISSING else _as_text(found)

    return _PLACE.sub(value, text) if "{{" in text else text


def key_problems(text: str, *, payload: Any, of: str, has_job: bool) -> Iterator[str]:
    """Why a text is no key for runs with this payload."""
    names = dict.fromkeys(_NAMES if has_job else ("tenant",), "")
    if not 1 <= len(text) <= limits.KEY_LETTERS_MAX:
        yield f"must have 1 to {limits.KEY_LETTERS_MAX} letters"
        return
    for place in _PLACE.finditer(text):
        found = _look_up(place[1], payload, of, names)
        where = f"{{{{{place[1][:64]}}}}} at letter {place.start() + 1}"
        if found is _MISSING:
            known = ", ".join((*names, f"{of}.FIELD"))
            yield f"{where} is nothing that the run has; known are {known}, for fields that the payload has"
        elif found is None or isinstance(found, dict | list):
            yield f"{where} must be a text, a number or a boolean"
    if len(fill_key(text, payload=payload, of=of, names=names)) > limits.KEY_LETTERS_MAX:
        yield f"must not be longer than {limits.KEY_LETTERS_MAX} letters with its values"


def _look_up(name: str, payload: Any, of: str, names: Mapping[str, str]) -> Any:
    if name in names:
        return names[name]
    first, *path = name.split(".")
    if first != of or not path:
        return _MISSING
    found = payload
    for step in path:
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return _MISSING
    return found


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else _json.encode(value).decode()
