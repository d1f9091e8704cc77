"""Pages of jobs: each filter is found by an index of its own."""

import pytest

from dueline.store.postgres import jobs


@pytest.mark.parametrize("statements", [jobs._PAGES, jobs._SEARCHES, jobs._EDGES], ids=["page", "search", "edge"])
def test_each_filter_has_a_statement_of_its_own(statements: dict[str, str]) -> None:
    """They are made from one text by replacing a part of it. Where that part is not found they would all be the same, right and slow."""
    assert len(set(statements.values())) == len(statements) == 5
