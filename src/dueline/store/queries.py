"""SQL in named files: `-- name: claim` starts a statement, its comments say what it is for.

What several statements say in the same words stands in `parts`, and `-- part: idle (state = 'cancelled'; reason = $4)` in its place:
`<state>` becomes what is given for it.

A statement may have a second form, for rows that are all new, as is the rule: `NAME_new`, without what stands between `-- unless new:` and
`-- :unless new`. To look whether each row is there already costs more than to write again where one was. And one that can be searched has a
form for that, `NAME_searched`, with what stands between `-- if searched:` and `-- :if searched`; the statement itself is without it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import indent

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PART = re.compile(r"^( *)-- part: (\w+)(?: \((.+)\))?$\n", re.MULTILINE)
_IF_SEARCHED = re.compile(r"^ *-- if searched:$.*?^ *-- :if searched$\n?", re.MULTILINE | re.DOTALL)
_UNLESS_NEW = re.compile(r"^ *-- unless new:$.*?^ *-- :unless new$\n?", re.MULTILINE | re.DOTALL)


@cache
def load_queries(dialect: str, noun: str) -> dict[str, str]:
    """The statements of one file, by name, each in all of its forms."""
    folder = files("dueline.store").joinpath(dialect, "queries")
    pieces = _NAME.split(_whole(folder.joinpath(f"{noun}.sql").read_text(), folder.joinpath("parts")))[1:]
    statements = {name: body.strip().removesuffix(";") for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
    for name, text in [*statements.items()]:
        if _UNLESS_NEW.search(text):
            statements[f"{name}_new"] = _UNLESS_NEW.sub("", text)
        if _IF_SEARCHED.search(text):
            statements |= {name: _IF_SEARCHED.sub("", text), f"{name}_searched": text}
    return statements


def _whole(text: str, parts: Traversable) -> str:
    """The text with its parts, and theirs, in their places."""

    def put_in(found: re.Match[str]) -> str:
        space, name, given = found.groups()
        part = _whole(parts.joinpath(f"{name}.sql").read_text(), parts)
        for one in given.split("; ") if given else ():
            word, _, meaning = one.partition(" = ")
            part = part.replace(f"<{word}>", meaning)
        return indent(part, space)

    return _PART.sub(put_in, text)
