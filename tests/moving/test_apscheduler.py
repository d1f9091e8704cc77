"""APScheduler's jobs become jobs, from a file that is never run and without opening a pickle."""

import pytest

from dueline.domain.errors import Invalid
from dueline.moving.entries import Entry, Outcome
from tests.moving.moved import converted, differ, file, job, only, reason

SKIPPED = {"timezone": "Europe/Helsinki", "dst_gap": "skip", "dst_overlap": "both"}


def entries(**options: object) -> dict[str, Entry]:
    """By the names of their jobs, or by their lines."""
    found = file("apscheduler", "scheduler.txt", **options)
    return {place if entry.job is None else entry.job["name"]: entry for place, entry in found.items()}


def test_a_whole_job() -> None:
    assert job(entries()["weekdays"]) == {
        "name": "weekdays",
        "target": {"type": "task", "task": "jobs.report", "args": {}},
        "schedule": {"cron": "30 5 * * MON-FRI", **SKIPPED, "end_at": "2027-05-29T21:00:00.000Z"},
        "timeout": "P1D",
        "retry": {"max_attempts": 1},
        "overlap": "skip",
        "misfire": {"policy": "skip"},
        "delivery": "at_most_once",
    }


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("tick", {"every": "PT2H", "start_at": "2025-12-31T22:00:00.000Z", "jitter": "PT2M"}),
        ("once", {"at": "2026-12-24T16:00:00.000Z"}),
        ("third", {"cron": "0 0-3 * 6-8,11,12 FRI#3", **SKIPPED}),
        ("last_sunday", {"cron": "0 0 * * SUNL", **SKIPPED}),
        ("seconds", {"cron": "*/20 * * * * *", **SKIPPED}),
        ("unlucky", {"rrule": "FREQ=DAILY;BYMONTHDAY=13;BYDAY=FR;BYHOUR=0;BYMINUTE=0;BYSECOND=0", **SKIPPED}),
        ("mixed", {"cron": "30 3 L * MON#1", **SKIPPED}),
        ("interval", {"every": "PT15M"}),
        ("my_job_id", {"cron": "30 3 * * *", **SKIPPED}),
    ],
)
def test_a_schedule(name: str, schedule: dict[str, str]) -> None:
    assert job(entries()[name])["schedule"] == schedule


def test_the_week_begins_on_monday_also_in_a_crontab() -> None:
    schedule = job(entries()["crontab"])["schedule"]
    assert "BYDAY=MO;" in schedule["rrule"]
    assert schedule["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("name", "policies"),
    [
        ("weekdays", {"overlap": "skip", "misfire": {"policy": "skip"}}),
        ("tick", {"overlap": "skip", "misfire": {"policy": "fire_once", "window": "PT1H"}}),
        ("mixed", {"overlap": "skip", "misfire": {"policy": "fire_all", "window": "P366D"}}),
        ("seconds", {"overlap": "allow", "concurrency": 3, "misfire": {"policy": "skip"}}),
    ],
)
def test_policies(name: str, policies: dict[str, object]) -> None:
    found = job(entries()[name])
    assert {key: found[key] for key in policies} == policies


def test_the_defaults_of_the_scheduler_count() -> None:
    text = (
        "s = Scheduler(job_defaults={'coalesce': False, 'max_instances': 2, 'misfire_grace_time': 30})\n"
        "s.add_job(f, 'interval', minutes=1)"
    )
    found = job(only("apscheduler", text))
    assert (found["concurrency"], found["misfire"]) == (2, {"policy": "fire_all", "window": "PT30S"})


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("line 21", "the field week"),
        ("line 25", "run_date is past"),
        ("line 26", "at once"),
        ("line 27", "AndTrigger"),
        ("line 28", "switched off"),
        ("line 29", "without running it"),
    ],
)
def test_what_is_not_converted(place: str, told: str) -> None:
    assert told in reason(entries()[place])


def test_jobs_in_json() -> None:
    found = file("apscheduler", "jobs.json")
    assert job(found["job report"])["target"] == {"type": "task", "task": "shop.jobs.report", "args": {"full": True}}
    assert job(found["job report"])["schedule"]["cron"] == "0 9 * * MON-FRI"
    assert job(found["job report"])["misfire"] == {"policy": "fire_once", "window": "PT1M"}
    assert job(found["job poll"])["schedule"] == {"every": "PT30S"}
    assert "not within 0-23" in reason(found["job broken"])


@pytest.mark.parametrize("text", ["x = 1", "", "def"])
def test_a_file_without_jobs(text: str) -> None:
    with pytest.raises(Invalid):
        converted("apscheduler", text)


@pytest.mark.parametrize(
    ("fields", "cron"),
    [
        ("hour='*'", "0 * * * *"),
        ("day=1, minute=20", "20 * 1 * *"),
        ("month=6", "0 0 1 6 *"),
        ("year=2027", "0 0 0 1 1 * 2027"),
        ("day_of_week=6", "0 0 * * SUN"),
        ("day_of_week='*/2'", "0 0 * * MON,WED,FRI,SUN"),
        ("second=5", "5 * * * * *"),
        ("day='last'", "0 0 L * *"),
        ("day='1-7', day_of_week='tue'", "0 0 * * TUE#1"),
        ("hour='8-18/2', minute='0,30'", "0,30 8,10,12,14,16,18 * * *"),
    ],
)
def test_fields_that_are_left_out(fields: str, cron: str) -> None:
    entry = only("apscheduler", f"s.add_job(f, 'cron', {fields})", timezone="UTC")
    assert job(entry)["schedule"] == {"cron": cron, "timezone": "UTC"}
    assert differ(entry, "2026-01-01T00:00:00Z", 33) == []


@pytest.mark.parametrize("name", ["weekdays", "third", "last_sunday", "crontab", "unlucky", "mixed", "my_job_id"])
def test_jobs_fire_as_apscheduler_says_also_when_the_clocks_change(name: str) -> None:
    entry = entries()[name]
    assert differ(entry, "2026-03-01T00:00:00Z", 40) == []
    assert differ(entry, "2026-10-01T00:00:00Z", 60) == []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("f, 'cron', hour=settings.HOUR", "hour cannot be known"),
        ("f, 'interval', hours=settings.HOURS", "hours is no number"),
        ("f, 'interval', hours=1, jitter=settings.JITTER", "jitter is no number"),
        ("f, 'interval', hours=1, max_instances=settings.MANY", "max_instances cannot be known"),
        ("f, 'interval', hours=1, args=settings.ARGS", "no list and no dict"),
        ("f, 'interval', hours=1, args=[Thing()]", "no literal that JSON has"),
        ("f, 'cron', hour=1, timezone=settings.ZONE", "timezone cannot be known"),
        ("f, 'cron', hour=1, timezone='Mars/Base'", "unknown time zone"),
        ("f, 'date', run_date=compute()", "no time with its value"),
        ("f, 'date', run_date='soon'", "no time such as"),
        ("f, 'calendarinterval', days=1", "none of cron, interval and date"),
        ("lambda: 1, 'interval', hours=1", "without running it"),
    ],
)
def test_what_only_a_run_could_tell_is_refused(call: str, told: str) -> None:
    assert told in reason(only("apscheduler", f"s.add_job({call})"))


def test_paused_jobs_are_written_where_asked_for() -> None:
    entry = entries(include_disabled=True)["paused"]
    assert entry.outcome is Outcome.CONVERTED
    assert job(entry)["schedule"] == {"every": "P1D"}
