"""`dueline tenant …`."""

from tests.cli.conftest import Command


def test_what_a_tenant_may_is_set_shown_and_lifted(cli: Command) -> None:
    told = cli("tenant", "set", "acme", "--weight", "2", "--jobs", "5", "--run-now-per-minute", "60", "-o", "json").json
    assert (told["weight"], told["quotas"]["jobs"], told["quotas"]["run_now_per_minute"]) == (2.0, 5, 60)
    told = cli("tenant", "set", "acme", "--jobs", "none", "--retention-days", "30", "-o", "json").json
    assert (told["weight"], told["quotas"]["jobs"], told["quotas"]["retention_days"]) == (2.0, None, 30)
    assert cli("tenant", "get", "acme", "-o", "json").json == told
    header, row = cli("tenant", "list").out.splitlines()
    assert header.startswith("NAME")
    assert row.split() == ["acme", "2.0", "0", "0", "-", "0", "of", "60", "-", "-", "30"]
    cli("tenant", "set", "other", "--running", "1")
    assert len(cli("tenant", "list", "--limit", "1", "--all", "-o", "json").json["items"]) == 2
    assert "--cursor" in cli("tenant", "list", "--limit", "1").err


def test_what_cannot_be_set_is_told(cli: Command) -> None:
    ended = cli("tenant", "set", "acme", "--jobs", "many")
    assert (ended.code, "--jobs: must be a whole number, or none" in ended.err) == (2, True)
    assert cli("tenant", "set", "acme", "--jobs", "0").code == 2
    assert cli("tenant", "get", "a b").code == 3


def test_a_quota_that_is_used_up_is_told(cli: Command) -> None:
    cli("tenant", "set", "default", "--run-now-per-minute", "1")
    assert cli("run", "create", "--url", "http://127.0.0.1:9/").code == 0
    ended = cli("run", "create", "--url", "http://127.0.0.1:9/")
    assert (ended.code, "run_now_per_minute" in ended.err) == (4, True)
    cli("tenant", "set", "default", "--run-now-per-minute", "none")
