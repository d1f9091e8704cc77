"""A broken build: a copy of the product in which a few words are others. The product itself knows nothing of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from proof.mutants.checks import Check

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dueline"


class Outgrown(Exception):
    """What an edit replaces is not there, or not once: the product has changed, and the mutant has to follow."""


@dataclass(frozen=True)
class Edit:
    """Words of one file, which must be there exactly once, and those in their place."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """One breakage. `tells` what is broken; `checks` are tried in this order until one finds it, the cheapest first.

    `why_not` says what a machine lacks for its checks.
    """

    name: str
    tells: str
    edits: tuple[Edit, ...]
    checks: tuple[Check, ...]
    why_not: Callable[[], str | None] = lambda: None


def edited(edits: Sequence[Edit]) -> dict[str, str]:
    """The files that edits change, as they are with all of them. Raises Outgrown when one does not apply."""
    texts: dict[str, str] = {}
    for edit in edits:
        path = SOURCE / edit.path
        if edit.path not in texts and not path.exists():
            raise Outgrown(f"there is no {edit.path}")
        text = texts.get(edit.path) or path.read_text()
        if (times := text.count(edit.old)) != 1:
            raise Outgrown(f"{edit.path} has {times} times, and not once: {edit.old}")
        texts[edit.path] = text.replace(edit.old, edit.new)
    return texts


def build(edits: Sequence[Edit], folder: Path) -> dict[str, str]:
    """Put a build into a folder; answers the environment in which every process, and every process of theirs, runs it."""
    shutil.copytree(SOURCE, folder / "dueline")
    for path, text in edited(edits).items():
        (folder / "dueline" / path).write_text(text)
    return {**os.environ, "PYTHONPATH": str(folder)}
