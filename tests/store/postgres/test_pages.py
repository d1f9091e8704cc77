"""Pages of jobs: each filter is found by an index of its own."""

import pytest

from dueline.store.postgres import jobs


@pytest.mark.parametrize("made", [jobs._PAGES, jobs._SEARCHES, jobs._EDGES], ids=["pages", "searches", "edges"])
def test_each_filter_has_a_statement_of_its_own(made: dict[str, str]) -> None:
    """They are made from one text by replacing a part of it. Where that part is not found they would all be the same, right and slow."""
    assert set(made) == {"", *jobs._FILTERS}
    assert len(set(made.values())) == len(made)
