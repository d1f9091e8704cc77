"""Pages of jobs: each filter is found by an index of its own."""

from dueline.store.postgres import jobs


def test_each_filter_has_a_statement_of_its_own() -> None:
    """They are made from one text by replacing a part of it. Where that part is not found they would all be the same, right and slow."""
    pages = [jobs._SQL["page"], *jobs._PAGES.values()]
    assert len(set(pages)) == len(pages) == 5
