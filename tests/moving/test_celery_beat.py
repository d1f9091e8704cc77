"""Celery's beat becomes jobs, from a file that is never run."""

import pytest

from dueline.domain.errors import Invalid
from dueline.moving.entries import Entry, Outcome
from tests.moving.moved import converted, differ, file, job, only, reason


def entries(**options: object) -> dict[str, Entry]:
    """By their names in the file."""
    found = file("celery-beat", "celery_app.txt", **options)
    return {place.partition(", ")[2] or place: entry for place, entry in found.items()}


def test_a_whole_entry() -> None:
    entry = entries()["nightly-report"]
    assert job(entry) == {
        "name": "nightly-report",
        "target": {
            "type": "task",
            "task": "shop.tasks.report",
            "args": {"full": True, "recipients": ["ada", "bob"]},
        },
        "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
        "timeout": "P1D",
        "retry": {"max_attempts": 1},
        "overlap": "allow",
        "misfire": {"policy": "fire_once", "window": "P366D"},
        "delivery": "at_most_once",
        "queue": "reports",
        "expires_after": "PT15M",
    }
    assert entry.notes == ["the option priority is not carried over"]


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("add-every-30-seconds", {"every": "PT30S"}),
        ("every-ten-minutes", {"every": "PT10M"}),
        ("as-schedule", {"every": "PT1M30S"}),
        ("first-monday", {"cron": "0 9 * * MON#1", "timezone": "Europe/Berlin"}),
        ("evenings", {"cron": "*/20 0-2,22,23 * * FRI-SUN", "timezone": "Europe/Berlin"}),
        ("every-quarter", {"cron": "*/15 * * * *", "timezone": "Europe/Berlin"}),
        ("added-later", {"cron": "5 */6 * * *", "timezone": "Europe/Berlin"}),
    ],
)
def test_a_schedule(name: str, schedule: dict[str, str]) -> None:
    assert job(entries()[name])["schedule"] == schedule


def test_days_that_must_fit_twice_become_a_rule() -> None:
    rule = job(entries()["both-days"])["schedule"]
    assert rule == {
        "rrule": "FREQ=DAILY;BYMONTHDAY=5,10,11,12;BYDAY=MO,FR;BYHOUR=6;BYMINUTE=0;BYSECOND=0",
        "timezone": "Europe/Berlin",
    }


def test_periodic_tasks_that_are_added() -> None:
    found = file("celery-beat", "celery_app.txt")
    mondays, hello = found["line 37"], found["line 38"]
    assert job(mondays)["target"] == {"type": "task", "task": "greet", "args": {"args": ["Happy Mondays!"]}}
    assert job(mondays)["schedule"]["cron"] == "30 7 * * MON"
    assert job(hello)["target"]["args"] == {"word": "hello"}
    assert (job(hello)["schedule"], job(hello)["expires_after"]) == ({"every": "PT10S"}, "PT10S")


def test_what_cannot_be_and_what_need_not_be() -> None:
    found = entries()
    assert "follows the sun" in reason(found["sunset"])
    assert "hour is no number" in reason(found["computed"])
    assert "a second is the shortest" in reason(found["too-fast"])
    assert found["cleanup"].outcome is Outcome.LEFT_OUT


def test_arguments_without_names_are_told() -> None:
    entry = entries()["add-every-30-seconds"]
    assert job(entry)["target"]["args"] == {"args": [16, 16]}
    assert "by name" in entry.notes[0]


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("beat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=1)}}", "UTC"),
        ("timezone = 'Asia/Tokyo'\nbeat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=1)}}", "Asia/Tokyo"),
        (
            "TIME_ZONE = 'Asia/Tokyo'\nCELERY_TIMEZONE = TIME_ZONE\n"
            "CELERY_BEAT_SCHEDULE = {'a': {'task': 't', 'schedule': crontab(hour=1)}}",
            "Asia/Tokyo",
        ),
        (
            "class Config:\n    timezone = ZoneInfo('Asia/Tokyo')\n"
            "    beat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=1)}}",
            "Asia/Tokyo",
        ),
    ],
)
def test_the_zone_of_the_app(text: str, zone: str) -> None:
    assert job(only("celery-beat", text))["schedule"]["timezone"] == zone


def test_local_time_must_be_named() -> None:
    text = "enable_utc = False\nbeat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=1)}}"
    assert "--timezone" in reason(only("celery-beat", text))
    assert job(only("celery-beat", text, timezone="Asia/Tokyo"))["schedule"]["timezone"] == "Asia/Tokyo"


def test_a_deadline_for_missed_times_is_the_window() -> None:
    text = (
        "beat_cron_starting_deadline = 600\n"
        "beat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=1)}, 'b': {'task': 't', 'schedule': 60}}"
    )
    cron, interval = converted("celery-beat", text)
    assert job(cron)["misfire"]["window"] == "PT10M"
    assert job(interval)["misfire"]["window"] == "P366D"


def test_nothing_is_run() -> None:
    text = "raise SystemExit\nimport nowhere\nbeat_schedule = {'a': {'task': 't', 'schedule': 60}}"
    assert job(only("celery-beat", text))["schedule"] == {"every": "PT1M"}


@pytest.mark.parametrize(
    ("text", "told"),
    [("x = 1", "has no beat_schedule"), ("def", "line 1: is not Python 3"), ("a\0b", "is not Python 3")],
)
def test_a_file_that_cannot_be_read(text: str, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        converted("celery-beat", text)


def test_a_schedule_that_is_put_together_is_refused() -> None:
    assert "what a run puts together" in reason(only("celery-beat", "beat_schedule = make()"))
    assert "without running it" in reason(only("celery-beat", "beat_schedule = {k: v for k, v in x}"))


def test_dicts_of_the_file_are_looked_into() -> None:
    text = (
        "COMMON = {'a': {'task': 't', 'schedule': 60}}\nALL = {**COMMON, 'b': {'task': 't', 'schedule': 90}}\n"
        "app.conf.beat_schedule = ALL"
    )
    assert [job(entry)["name"] for entry in converted("celery-beat", text)] == ["a", "b"]


@pytest.mark.parametrize("name", ["nightly-report", "first-monday", "evenings", "both-days"])
def test_times_of_day_are_celerys_also_when_the_clocks_change(name: str) -> None:
    entry = entries()[name]
    assert differ(entry, "2026-03-01T00:00:00Z", 70) == []
    assert differ(entry, "2026-10-01T00:00:00Z", 60) == []


def test_an_hour_that_is_shown_again_brings_nothing_to_celery() -> None:
    entry = entries()["every-quarter"]
    assert differ(entry, "2026-03-01T00:00:00Z", 60) == []
    # 02:00 to 02:45, for the second time: from 01:00 UTC on.
    assert differ(entry, "2026-10-20T00:00:00Z", 10) == [1792890000 + 900 * n for n in range(4)]
