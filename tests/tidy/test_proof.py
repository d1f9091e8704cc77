"""The judge of the faults knows neither the product nor those who hurt it."""

import ast
import sys

import pytest

from tests.tidy.imports import imported_modules
from tests.tidy.tree import Source, python_sources

MAY_KNOW = ("proof.records", "proof.checker", "msgspec")


def partial_imports(source: Source) -> list[str]:
    """What a judge who is to be independent must not import."""
    return [
        f"{source.path}:{line}: the judge must not know {name}"
        for line, name in imported_modules(ast.parse(source.text), source.path)
        if name.partition(".")[0] not in sys.stdlib_module_names
        and not any(name == known or name.startswith(f"{known}.") for known in MAY_KNOW)
    ]


@pytest.mark.parametrize(
    "text",
    ["import dueline", "from dueline.domain import cron", "from proof import client", "from tests.domain import x"],
)
def test_a_partial_judge_is_found(text: str) -> None:
    assert partial_imports(Source("proof/checker/arrivals.py", text))


def test_the_judge_is_independent() -> None:
    sources = [
        source
        for source in python_sources("proof")
        if source.path == "proof/records.py" or source.path.startswith("proof/checker/")
    ]
    assert len(sources) > 5
    assert [finding for source in sources for finding in partial_imports(source)] == []
