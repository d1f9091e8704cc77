"""Dumps of django_celery_beat become jobs."""

import pytest

from dueline.domain.errors import Invalid
from dueline.moving.entries import Entry, Outcome
from tests.moving.moved import converted, file, job, reason


def entries(**options: object) -> dict[str, Entry]:
    found = file("celery-beat", "beat_dump.json", **options)
    return {place.removeprefix("periodic task "): entry for place, entry in found.items()}


def test_a_task_on_a_crontab() -> None:
    entry = entries()["Report"]
    assert job(entry)["target"] == {"type": "task", "task": "shop.tasks.report", "args": {"full": True, "args": [1]}}
    assert job(entry)["schedule"] == {
        "cron": "30 2 * * MON-WED",
        "timezone": "Europe/Berlin",
        "start_at": "2026-02-01T00:00:00.000Z",
        "end_at": "2026-12-31T00:00:00.000Z",
    }
    assert (job(entry)["queue"], job(entry)["expires_after"]) == ("reports", "PT10M")
    assert "priority is not carried over" in entry.notes


def test_once() -> None:
    found = entries()
    assert job(found["Christmas"])["schedule"] == {"at": "2026-12-24T18:00:00.000Z"}
    assert job(found["Once"])["schedule"] == {"every": "PT10M", "max_runs": 1}
    assert "past" in reason(found["Long ago"])


def test_what_is_switched_off_is_left_out_unless_asked_for() -> None:
    left = entries()["Every ten minutes"]
    assert left.outcome is Outcome.LEFT_OUT
    assert "--include-disabled" in reason(left)
    entry = entries(include_disabled=True)["Every ten minutes"]
    assert job(entry)["schedule"] == {"every": "PT10M"}
    assert "dueline job pause" in entry.notes[-1]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Lights", "follows the sun"),
        ("Too fast", "a second is the shortest"),
        ("Lost", "not in the dump"),
        ("celery.backend_cleanup", "housekeeping"),
    ],
)
def test_what_is_not_converted(name: str, told: str) -> None:
    assert told in reason(entries()[name])


@pytest.mark.parametrize(
    ("text", "told"),
    [("[]", "has no django_celery_beat.periodictask"), ('[{"model": 1}', "is not JSON"), ("[1", "JSON")],
)
def test_a_file_that_is_no_dump(text: str, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        converted("celery-beat", text)
