"""SQL in named files: `-- name: claim` starts a statement, its comments say what it is for."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@cache
def load_queries(dialect: str, noun: str) -> dict[str, str]:
    """The statements of one file, by name."""
    text = files("dueline.store").joinpath(dialect, "queries", f"{noun}.sql").read_text()
    pieces = _NAME.split(text)[1:]
    return {name: body.strip().removesuffix(";") for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
