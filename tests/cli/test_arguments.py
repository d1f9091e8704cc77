"""What the parser of the command line is spared."""

import pytest

from dueline.cli.arguments import rearranged


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        ("job list", "job list"),
        ("job list --profile a --all", "--profile a job list --all"),
        ("job --profile=a list", "--profile=a job list"),
        ("--profile a job list --profile b", "--profile a --profile b job list"),
        ("job list --profile", "job list --profile"),
        ("job list --watch", "job list --watch=2"),
        ("job list --watch 5 --all", "job list --watch=5 --all"),
        ("job list --watch .5", "job list --watch=.5"),
        ("job get --watch job_1", "job get --watch=2 job_1"),
        ("job list --watch=7", "job list --watch=7"),
        ("job list --watch --all", "job list --watch=2 --all"),
        ("job get -- --watch --profile", "job get -- --watch --profile"),
    ],
)
def test_arguments_are_put_where_the_parser_looks_for_them(typed: str, parsed: str) -> None:
    assert rearranged(typed.split()) == parsed.split()
