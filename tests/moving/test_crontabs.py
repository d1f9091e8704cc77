"""Crontabs become jobs that run as cron ran them."""

import pytest

from dueline.moving.entries import Outcome
from tests.moving.moved import file, job, only, reason


def test_a_crontab_of_a_user() -> None:
    entries = file("crontab", "user.crontab", timezone="Europe/Berlin")
    assert job(entries["line 6"]) == {
        "name": "backup",
        "target": {
            "type": "task",
            "task": "backup",
            "args": {
                "command": "/usr/local/bin/backup.sh --full >/dev/null 2>&1",
                "env": {"SHELL": "/bin/bash", "PATH": "/usr/local/bin:/usr/bin:/bin"},
            },
        },
        "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
        "timeout": "P1D",
        "retry": {"max_attempts": 1},
        "overlap": "allow",
        "misfire": {"policy": "skip"},
        "delivery": "at_most_once",
    }
    assert job(entries["line 7"])["name"] == "jobs.report"
    assert job(entries["line 9"])["schedule"]["cron"] == "15 3 1-31/2 jan,jul sun"
    assert job(entries["line 10"])["schedule"]["cron"] == "@weekly"
    outcomes = [entry.outcome for entry in entries.values()]
    assert outcomes.count(Outcome.CONVERTED) == 6
    assert outcomes.count(Outcome.REFUSED) == 3


def test_percent_signs_end_the_command_and_the_lines_of_its_input() -> None:
    args = job(file("crontab", "user.crontab")["line 8"])["target"]["args"]
    assert args["command"] == 'mail -s "100% done" ops@example.com'
    assert args["stdin"] == "All is well.\nBye."


def test_settings_count_for_the_lines_below_them() -> None:
    entries = file("crontab", "user.crontab", timezone="Europe/Berlin")
    later = entries["line 15"]
    assert job(later)["schedule"] == {"cron": "0 18 * * mon-fri", "timezone": "America/New_York"}
    assert job(later)["target"]["args"]["env"]["TZ"] == "Asia/Tokyo"
    assert any("TZ is part of its environment" in note for note in later.notes)
    assert any("MAILTO" in note for note in entries["line 6"].notes)
    assert not any("MAILTO" in note for note in later.notes), "it was emptied above"


def test_what_cron_knows_and_dueline_does_not() -> None:
    entries = file("crontab", "user.crontab")
    assert "@reboot" in reason(entries["line 12"])
    assert "5-59/15" in reason(entries["line 16"])
    assert "never fires" in reason(entries["line 17"])


def test_the_crontab_of_the_system_has_users() -> None:
    entries = file("crontab", "system.crontab", system=True)
    assert job(entries["line 3"])["target"]["args"] == {
        "command": "cd / && run-parts --report /etc/cron.hourly",
        "user": "root",
        "env": {"SHELL": "/bin/sh"},
    }
    assert job(entries["line 5"])["target"]["args"]["user"] == "www-data"
    assert [job(entries[f"line {number}"])["name"] for number in (3, 4, 5, 6)] == [
        "run-parts",
        "run-parts-2",
        "digest",
        "backup",
    ]
    assert "no command behind the user" in reason(entries["line 7"])


def test_minutes_that_count_follow_the_clock_and_times_of_day_do_not() -> None:
    said = {
        text: only("crontab", f"{text} x", timezone="Europe/Berlin").job
        for text in ("*/10 2 * * *", "0 2 * * *", "*/10 * * * *", "0 3,*/6 * * *")
    }
    changes = {
        text: {name: value for name, value in (said[text] or {})["schedule"].items() if name != "timezone"}
        for text in said
    }
    assert changes == {
        "*/10 2 * * *": {"cron": "*/10 2 * * *", "dst_gap": "skip", "dst_overlap": "both"},
        "0 2 * * *": {"cron": "0 2 * * *"},
        "*/10 * * * *": {"cron": "*/10 * * * *"},
        "0 3,*/6 * * *": {"cron": "0 3,0-23/6 * * *"},
    }


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("61 * * * * x", "minute '61' is not within 0-59"),
        ("0 24 * * * x", "hour '24' is not within 0-23"),
        ("0 0 0 * * x", "day of month '0' is not within 1-31"),
        ("0 0 * 13 * x", "month '13' is not within 1-12"),
        ("0 0 * * 8 x", "day of week '8' is not within 0-7"),
        ("0 0 * * sat-sun x", "runs backwards"),
        ("0 0 * * monday x", "none that can be read"),
        ("*/0 * * * * x", "step of 1 or more"),
        ("0~30 * * * * x", "drawn by lot"),
        ("? * * * * x", "none that cron reads"),
        ("0 0 * *", "has 4 words"),
        ("0 0 * * *", "has no command"),
        ("@fortnightly x", "is not known"),
    ],
)
def test_a_bad_line_is_refused_with_its_reason(line: str, told: str) -> None:
    entry = only("crontab", line)
    assert entry.place == "line 1"
    assert told in reason(entry)


def test_without_a_zone_it_is_utc_and_that_is_told() -> None:
    entry = only("crontab", "0 9 * * * x")
    assert job(entry)["schedule"]["timezone"] == "UTC"
    assert "--timezone" in entry.notes[0]
    assert only("crontab", "0 9 * * * x", timezone="Asia/Tokyo").notes == []


def test_an_unknown_zone_of_the_file_is_refused_for_its_lines() -> None:
    assert "unknown time zone" in reason(only("crontab", "CRON_TZ=Mars/Base\n0 9 * * * x"))


def test_jobs_call_a_url_where_one_is_given() -> None:
    entry = only("crontab", "0 9 * * * /opt/daily report.sh", url="https://example.com/run/{name}?task={task}")
    assert job(entry)["target"] == {
        "type": "http",
        "url": "https://example.com/run/daily?task=daily",
        "body": {"command": "/opt/daily report.sh"},
    }
    assert "timeout" not in job(entry)


def test_one_task_for_all() -> None:
    assert job(only("crontab", "0 9 * * * /opt/daily", task="command"))["target"]["task"] == "command"


def test_a_crontab_with_nothing_in_it_has_no_entries() -> None:
    from tests.moving.moved import converted

    assert converted("crontab", "# nothing\n\nMAILTO=a\n") == []
