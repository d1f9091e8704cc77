"""Kubernetes' CronJobs become jobs."""

from typing import Any

import pytest

from dueline.domain.errors import Invalid
from dueline.moving.entries import Entry
from tests.moving.moved import converted, differ, file, job, only, reason


def entries(**options: object) -> dict[str, Entry]:
    found = file("kubernetes-cronjob", "cronjobs.yaml", **options)
    return {place.removeprefix("CronJob "): entry for place, entry in found.items()}


def manifest(schedule: str, spec: str = "", job_spec: str = "") -> str:
    return (
        f"kind: CronJob\nmetadata: {{name: a}}\nspec:\n  schedule: '{schedule}'\n  {spec}\n"
        f"  jobTemplate: {{spec: {{{job_spec} template: {{spec: {{containers: [{{name: a, image: b}}]}}}}}}}}\n"
    )


def test_a_whole_cronjob() -> None:
    entry = entries()["shop/backup"]
    assert job(entry) == {
        "name": "shop/backup",
        "target": {
            "type": "task",
            "task": "backup",
            "args": {
                "image": "registry.example.com/backup:1.2",
                "command": ["/bin/backup"],
                "args": ["--full"],
                "env": {"TARGET": "s3://bucket"},
            },
        },
        "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin", "dst_gap": "skip", "dst_overlap": "both"},
        "timeout": "PT10M",
        "retry": {"max_attempts": 3, "base": "PT10S", "cap": "PT6M"},
        "overlap": "skip",
        "misfire": {"policy": "fire_once", "window": "PT3M20S"},
        "run_timeout": "PT10M",
    }
    told = "\n".join(entry.notes)
    assert all(word in told for word in ("queue_one", "metrics", "PASSWORD", "serviceAccountName"))


def test_what_is_left_to_kubernetes_defaults() -> None:
    entry = entries()["hello"]
    found = job(entry)
    assert found["schedule"] == {"cron": "@hourly", "timezone": "UTC"}
    assert found["retry"]["max_attempts"] == 7
    assert (found["overlap"], found["misfire"]) == ("allow", {"policy": "fire_once", "window": "P366D"})
    assert any("completions" in note for note in entry.notes)
    assert any("--timezone" in note for note in entry.notes)


def test_a_suspended_one_is_left_out_unless_asked_for() -> None:
    assert "switched off" in reason(entries()["stepped"])
    found = job(entries(include_disabled=True)["stepped"])
    assert found["overlap"] == "cancel_previous"
    assert found["schedule"]["cron"] == "0 6 1-31/2 * 1", "a stepped star restricts the days there"


def test_what_kubernetes_does_not_take_either() -> None:
    assert "not within 0-6" in reason(entries()["sunday-seven"])


def test_every() -> None:
    assert job(entries()["every"])["schedule"] == {"every": "PT1H30M"}


@pytest.mark.parametrize(
    ("schedule", "cron"),
    [
        ("0 0 ? * MON", "0 0 * * MON"),
        ("5/20 * * * *", "5/20 * * * *"),
        ("0 0 */1 * 1", "0 0 * * 1"),
        ("0 0 13 * */2", "0 0 13 * 0-6/2"),
        ("0 0 1,* * 5", "0 0 * * 5"),
        ("0 0 * JAN-mar sun,WED-fri", "0 0 * JAN-mar SUN,WED-FRI"),
    ],
)
def test_schedules_mean_what_they_meant(schedule: str, cron: str) -> None:
    entry = only("kubernetes-cronjob", manifest(schedule, "timeZone: Europe/Berlin"))
    assert job(entry)["schedule"]["cron"] == cron
    assert differ(entry, "2026-01-01T00:00:00Z", 366) == []


@pytest.mark.parametrize("schedule", ["30 2 * * *", "*/10 2 * * *", "*/20 * * * *", "0 1-3 * * *", "15 3/1 * * *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_what_is_jumped_over_is_skipped_and_what_is_shown_twice_runs_twice(schedule: str, zone: str) -> None:
    entry = only("kubernetes-cronjob", manifest(schedule, f"timeZone: {zone}"))
    for since in ("2026-03-06T00:00:00Z", "2026-04-03T00:00:00Z", "2026-10-02T00:00:00Z", "2026-10-24T00:00:00Z"):
        assert differ(entry, since, 10) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (manifest("0 0 * * *", "concurrencyPolicy: Maybe"), "Maybe"),
        (manifest("0 0 * *"), "has 4 fields"),
        (manifest("0 0 L * *"), "'l'"),
        (manifest("@often"), "@often"),
        (manifest("0 0 * * *", "timeZone: Mars/Base"), "unknown time zone"),
        (manifest("0 0 * * *", job_spec="backoffLimit: many,"), "backoffLimit"),
        ("kind: CronJob\nspec: {schedule: '0 0 * * *'}", "metadata.name"),
        ("kind: CronJob\nmetadata: {name: a}\nspec: {}", "spec.schedule"),
        ("kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 0 * * *'}", "no container"),
    ],
)
def test_a_bad_cronjob_is_refused_with_its_reason(text: str, told: str) -> None:
    assert told in reason(only("kubernetes-cronjob", text))


@pytest.mark.parametrize(
    ("text", "told"), [("kind: Job", "no object of the kind CronJob"), ("a: [", "is not YAML: line"), ("", "CronJob")]
)
def test_a_file_that_cannot_be_read(text: str, told: str) -> None:
    with pytest.raises(Invalid, match=told):
        converted("kubernetes-cronjob", text)


def test_bounds_of_dueline_are_told() -> None:
    entry = only(
        "kubernetes-cronjob", manifest("0 0 * * *", job_spec="backoffLimit: 500, activeDeadlineSeconds: 9000000,")
    )
    found: dict[str, Any] = job(entry)
    assert found["retry"]["max_attempts"] == 100
    assert (found["timeout"], found["run_timeout"]) == ("P1D", "P30D")
    assert any("at most 100" in note for note in entry.notes)


def test_dates_stay_text() -> None:
    text = manifest("0 0 * * *").replace("image: b", "image: b, args: [2026-01-01]")
    assert job(only("kubernetes-cronjob", text))["target"]["args"]["args"] == ["2026-01-01"]


def test_a_zone_in_the_schedule() -> None:
    entry = only("kubernetes-cronjob", manifest("CRON_TZ=Asia/Tokyo 0 9 * * *"))
    assert job(entry)["schedule"]["timezone"] == "Asia/Tokyo"
    assert differ(entry, "2026-01-01T00:00:00Z", 5) == []
