"""Lines of a crontab that do nothing but call a URL become that call; all others stay commands."""

from typing import Any

import pytest

from tests.moving.moved import job, only


def called(command: str, **options: Any) -> dict[str, Any]:
    """The job of a line with this command."""
    return job(only("crontab", f"0 9 * * * {command}", timezone="UTC", **options))


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("curl -fsS https://example.com/a", {"url": "https://example.com/a", "method": "GET"}),
        ("/usr/bin/curl example.com", {"url": "http://example.com", "method": "GET"}),
        (
            "curl -fsS -o /dev/null 'https://example.com/a?b=1&c=2'",
            {"url": "https://example.com/a?b=1&c=2", "method": "GET"},
        ),
        ("curl https://example.com/a >/dev/null 2>&1", {"url": "https://example.com/a", "method": "GET"}),
        ("curl https://example.com/a > /dev/null 2> /dev/null", {"url": "https://example.com/a", "method": "GET"}),
        ("curl https://example.com/a &>/dev/null", {"url": "https://example.com/a", "method": "GET"}),
        ("wget -qO- https://example.com/a", {"url": "https://example.com/a", "method": "GET"}),
        ("wget -q -O /dev/null https://example.com/a", {"url": "https://example.com/a", "method": "GET"}),
        ("wget --quiet --output-document=- https://example.com/a", {"url": "https://example.com/a", "method": "GET"}),
        ("curl -I https://example.com/a", {"url": "https://example.com/a", "method": "HEAD"}),
        ("curl -XDELETE https://example.com/a", {"url": "https://example.com/a", "method": "DELETE"}),
        (
            "curl -d a=1 --data b=2 https://example.com/a",
            {
                "url": "https://example.com/a",
                "method": "POST",
                "body": "a=1&b=2",
                "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            },
        ),
        (
            """curl --request PUT -H 'content-type: application/json' -H "X-Key: it's me" -d '{"full": [1]}' https://example.com/a""",
            {
                "url": "https://example.com/a",
                "method": "PUT",
                "body": '{"full": [1]}',
                "headers": {"content-type": "application/json", "X-Key": "it's me"},
            },
        ),
        (
            """curl --json '{"a": 1}' -A robot --connect-timeout 2.5 https://example.com/a""",
            {
                "url": "https://example.com/a",
                "method": "POST",
                "body": '{"a": 1}',
                "headers": {"Content-Type": "application/json", "User-Agent": "robot"},
                "connect_timeout": "PT2.5S",
            },
        ),
    ],
)
def test_a_command_that_only_calls_is_a_call(command: str, target: dict[str, Any]) -> None:
    assert called(command)["target"] == {"type": "http", **target}


@pytest.mark.parametrize(
    "command",
    [
        "curl https://example.com/a | sh",
        "curl https://example.com/a && echo done",
        "curl https://example.com/a > out.html",
        "curl -o out.html https://example.com/a",
        "curl -O https://example.com/a.tgz",
        "wget https://example.com/a",
        "wget -q https://example.com/a",
        "curl https://example.com/$TOKEN",
        'curl "https://example.com/$(hostname)"',
        """curl "https://example.com/it's?$TOKEN" -H 'A: b'""",
        "curl https://example.com/a?b=1&c=2",
        "curl https://example.com/a https://example.com/b",
        "curl 'https://example.com/[1-3]'",
        "curl -u me:secret https://example.com/a",
        "curl https://me:secret@example.com/a",
        "curl -k https://example.com/a",
        "curl --retry 3 https://example.com/a",
        "curl -d @file https://example.com/a",
        "curl -d '{{run.id}}' https://example.com/a",
        "curl -H @file https://example.com/a",
        "curl -H 'Host' https://example.com/a",
        "curl -X PURGE https://example.com/a",
        "curl -X GET -d a=1 https://example.com/a",
        "curl -m soon https://example.com/a",
        "curl -m 0 https://example.com/a",
        "curl --fail=no https://example.com/a",
        "curl -X",
        "curl",
        "curl 'https://example.com/a",
        "curl https://[example.com/a",
        "curl 'https://example.com:port]/a'",
        "curl ftp://example.com/a",
        "curl https://example.com/a #daily",
        "curl https://example.com/a#top",
        "curl https://example.com/a%input",
        "curly https://example.com/a",
        "/opt/curl.sh https://example.com/a",
    ],
)
def test_whatever_does_more_stays_a_command(command: str) -> None:
    target = called(command)["target"]
    assert target["type"] == "task"
    assert target["args"]["command"] == command.partition("%")[0]


def test_the_job_is_named_after_what_it_calls() -> None:
    assert (
        called("curl 'https://shop.example.com/cron/daily+report?x=1'")["name"] == "shop.example.com-cron-daily-report"
    )


def test_a_call_may_take_as_long_as_the_command() -> None:
    assert called("curl https://example.com/a")["timeout"] == "P1D"
    assert called("curl -m 90 https://example.com/a")["timeout"] == "PT90S"


def test_what_a_call_does_otherwise_is_told() -> None:
    def notes(command: str) -> str:
        return " ".join(only("crontab", f"0 9 * * * {command}", timezone="UTC").notes)

    assert notes("curl -f https://example.com/a") == ""
    assert "every answer for a success" in notes("curl https://example.com/a")
    assert "redirects are not followed" in notes("curl -fL https://example.com/a")
    assert "redirects are not followed" in notes("wget -qO- https://example.com/a")


def test_who_says_what_commands_become_is_heard() -> None:
    assert called("curl -f https://example.com/a", task="command")["target"]["task"] == "command"
    assert (
        called("curl -f https://example.com/a", url="https://jobs.example/")["target"]["url"] == "https://jobs.example/"
    )


def test_a_proxy_of_the_environment_keeps_it_a_command() -> None:
    entry = only("crontab", "https_proxy=http://proxy:3128\n0 9 * * * curl -f https://example.com/a")
    assert job(entry)["target"]["type"] == "task"
