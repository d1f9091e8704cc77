"""Two comforts of the command line that its parser does not have: `--profile` anywhere, and `--watch` with or without its seconds."""

from __future__ import annotations

import re
from collections.abc import Sequence

WATCH_S_DEFAULT = 2
_PROFILE = "--profile"
_WATCH = "--watch"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")


def rearranged(arguments: Sequence[str]) -> list[str]:
    """The same arguments as the parser takes them. What stands behind `--` stays as it is."""
    first: list[str] = []
    rest: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*first, *rest, word, *waiting]
        if word == _PROFILE and waiting:
            first += [word, waiting.pop(0)]
        elif word.startswith(f"{_PROFILE}="):
            first.append(word)
        elif word == _WATCH:
            given = bool(waiting and _NUMBER.fullmatch(waiting[0]))
            rest.append(f"{_WATCH}={waiting.pop(0) if given else WATCH_S_DEFAULT}")
        else:
            rest.append(word)
    return [*first, *rest]
