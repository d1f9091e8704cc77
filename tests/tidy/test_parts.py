"""What statements say in the same words: each part is used by several, and gets all that it asks for."""

import re
from collections import Counter
from pathlib import Path

import pytest

from dueline.store.queries import load_queries
from tests.tidy.tree import PACKAGE, ROOT

USE = re.compile(r"^ *-- part: (\w+)", re.MULTILINE)
LEFT = re.compile(r"<[a-z_]+>|-- part:")


def folder_of(dialect: str) -> Path:
    return ROOT / PACKAGE / "store" / dialect / "queries"


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_every_part_is_used_more_than_once(dialect: str) -> None:
    folder = folder_of(dialect)
    uses = Counter(name for path in folder.rglob("*.sql") for name in USE.findall(path.read_text()))
    parts = {path.stem for path in (folder / "parts").iterdir()}
    assert set(uses) == parts
    assert [name for name, times in uses.items() if times < 2] == []


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_nothing_is_left_open(dialect: str) -> None:
    for path in folder_of(dialect).glob("*.sql"):
        for name, text in load_queries(dialect, path.stem).items():
            assert LEFT.findall(text) == [], f"{path.stem}.{name}"


def test_a_part_stands_as_deep_as_its_place() -> None:
    lines = load_queries("postgres", "cancels")["expire"].splitlines()
    assert "    INSERT INTO dueline.history (" in lines
    assert any("'expired', queue" in line for line in lines)
