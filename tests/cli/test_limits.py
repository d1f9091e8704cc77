"""`dueline limit …`, and the limits of jobs and runs."""

import pytest

from tests.cli.conftest import Command

URL = "http://127.0.0.1:9/"
LIMITED = [
    *("--body", '{"customer": "ada"}', "--concurrency", "5", "--concurrency-key", "{{body.customer}}"),
    *("--rate", "100/1m", "--rate-burst", "20", "--rate-key", "mail"),
]


def test_limits_reach_the_job_and_the_run(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, *LIMITED, "-o", "json").json
    assert job["concurrency"] == {"limit": 5, "key": "{{body.customer}}"}
    assert job["rate"] == {"limit": 100, "per": "PT1M", "burst": 20, "key": "mail"}
    assert cli("run", "create", "--url", URL, *LIMITED).code == 0
    refused = cli("run", "create", "--url", URL, "--concurrency", "5")
    assert (refused.code, "concurrency.key" in refused.err) == (2, True)


def test_an_edit_changes_what_it_names_and_a_new_rate_has_its_own_burst(cli: Command) -> None:
    job = cli("job", "create", "--url", URL, *LIMITED, "-o", "json").json["id"]
    edited = cli("job", "edit", job, "--concurrency", "2", "--rate", "10 / 1h", "-o", "json").json
    assert edited["concurrency"] == {"limit": 2, "key": "{{body.customer}}"}
    assert edited["rate"] == {"limit": 10, "per": "PT1H", "burst": 10, "key": "mail"}
    edited = cli("job", "edit", job, "--rate-burst", "3", "--concurrency-key", "k", "-o", "json").json
    assert (edited["rate"]["limit"], edited["rate"]["burst"]) == (10, 3)
    assert edited["concurrency"] == {"limit": 2, "key": "k"}


@pytest.mark.parametrize("text", ["100", "1m", "/1m", "x/1m", "-1/1m", "1.5/1m", "100/", "1" * 5_000 + "/1m"])
def test_what_is_no_rate_is_refused(cli: Command, text: str) -> None:
    refused = cli("limit", "set", "queue", "mail", "--rate", text)
    assert (refused.code, "100/1m" in refused.err) == (2, True)


def test_a_limit_is_set_shown_listed_and_deleted(cli: Command) -> None:
    made = cli("limit", "set", "queue", "mail", "--rate", "100/1m", "--rate-burst", "1", "-o", "json").json
    assert (made["concurrency"], made["rate"]) == (None, {"limit": 100, "per": "PT1M", "burst": 1})
    assert cli("limit", "set", "host", "Api.test:1", "--concurrency", "10").code == 0
    header, host, queue = (line.split() for line in cli("limit", "list").out.splitlines())
    assert header == ["SCOPE", "NAME", "CONCURRENCY", "RATE", "BURST", "RUNNING", "UPDATED"]
    assert (host[:6], queue[:6]) == (
        ["host", "api.test:1", "10", "-", "-", "0"],
        ["queue", "mail", "-", "100/PT1M", "1", "0"],
    )
    listed = cli("limit", "list", "--all", "-o", "json").json["items"]
    assert listed == [cli("limit", "get", "host", "api.test:1", "-o", "json").json, made]
    assert "more" in cli("limit", "list", "--limit", "1").err
    assert cli("limit", "delete", "host", "api.test:1", "--yes").err == "Deleted the limit of host api.test:1.\n"
    assert cli("limit", "delete", "host", "api.test:1", "--yes").code == 3
    assert cli("limit", "get", "tenant", "default").code == 3
    assert cli("limit", "set", "tenant", "default", "--concurrency", "1").code == 2
    assert cli("limit", "set", "queue", "mail").code == 2
