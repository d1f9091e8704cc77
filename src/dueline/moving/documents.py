"""Files of JSON and YAML, read and written."""

from __future__ import annotations

import json
from typing import Any

import yaml

from dueline.domain.errors import Invalid

_WIDTH = 120


class _Plain(yaml.SafeDumper):
    """Writes what is the same in several places out in each of them, so that people can change it in one."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


class _Reader(yaml.SafeLoader):
    """Reads dates as the text that they are, as JSON would have them."""


_Reader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_json(text: str) -> list[Any]:
    """The JSON documents of a file, one behind the other: what a loop of commands writes is read as it is."""
    decoder = json.JSONDecoder()
    found: list[Any] = []
    at = _next(text, 0)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            line = (
                f"line {error.lineno}: {error.msg}"
                if isinstance(error, json.JSONDecodeError)
                else "is nested too deeply"
            )
            raise Invalid(("FILE", f"is not JSON: {line}")) from None
        found.append(value)
        at = _next(text, at)
    if not found:
        raise Invalid(("FILE", "is empty"))
    return found


def read_yaml(text: str) -> list[Any]:
    """The YAML documents of a file; those that say nothing are left out."""
    try:
        return [document for document in yaml.load_all(text, Loader=_Reader) if document is not None]
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark is not None else ""
        raise Invalid(("FILE", f"is not YAML: {line}{getattr(error, 'problem', None) or error}")) from None


def write_yaml(value: Any) -> str:
    """YAML in the order of the value, with text as it is."""
    return yaml.dump(value, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=_WIDTH)


def write_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _next(text: str, at: int) -> int:
    """Where the next document begins; commas between them are borne."""
    while at < len(text) and text[at] in " \t\r\n\ufeff,":
        at += 1
    return at
