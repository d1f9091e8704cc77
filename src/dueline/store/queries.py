"""SQL in named files: `-- name: claim` starts a statement, its comments say what it is for.

A statement may have a second form, for rows that are all new, as is the rule: `NAME_new`, without what stands between `-- unless new:` and
`-- :unless new`. To look whether each row is there already costs more than to write again where one was.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_UNLESS_NEW = re.compile(r"^ *-- unless new:$.*?^ *-- :unless new$\n?", re.MULTILINE | re.DOTALL)


@cache
def load_queries(dialect: str, noun: str) -> dict[str, str]:
    """The statements of one file, by name, each in all of its forms."""
    text = files("dueline.store").joinpath(dialect, "queries", f"{noun}.sql").read_text()
    pieces = _NAME.split(text)[1:]
    statements = {name: body.strip().removesuffix(";") for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
    for name, text in [*statements.items()]:
        if _UNLESS_NEW.search(text):
            statements[f"{name}_new"] = _UNLESS_NEW.sub("", text)
    return statements
