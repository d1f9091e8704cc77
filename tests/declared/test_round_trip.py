"""Against a server on each store: what is exported and applied again changes nothing, and a plan is carried out as it was made."""

from typing import Any

import msgspec
import pytest

from dueline.declared.asking import Answer, ask, in_calls, with_fires
from dueline.declared.carrying import End, carry_out
from dueline.declared.documents import File, read_files
from dueline.declared.plans import Action, Plan, make_plan
from dueline.declared.writing import documents_of, to_yaml
from dueline.sdk.client import PlainClient
from dueline.wire.reading import encode
from tests.api.serving import ServedApi

URL = "http://127.0.0.1:9/"
CALL = {"url": URL}

SCHEDULES: list[Any] = [
    None,
    {"at": "2099-01-01T00:00:00Z"},
    {"at": "2020-01-01T00:00:00Z", "allow_past": True},
    {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "dst_gap": "skip", "dst_overlap": "both"},
    {"cron": "H H * * *", "jitter": "5m", "max_runs": 7},
    {"calendar": {"hour": [9, 17], "days_of_week": "MON-FRI"}},
    {"every": "PT15M"},
    {"every": "PT15M", "start_at": "2026-01-01T00:00:00Z", "end_at": "2099-01-01T00:00:00Z"},
    {"every": "P1M"},
    {"after": "PT15M"},
    {"after": "PT15M", "start_at": "2099-01-01T00:00:00Z"},
    {"repeat": "R5/2099-01-31T00:00:00Z/P1M", "timezone": "Asia/Tokyo"},
    {"rrule": "FREQ=MONTHLY;BYDAY=-1FR"},
    {
        "rrule": "DTSTART;TZID=Europe/Berlin:20990105T090000\nRRULE:FREQ=DAILY\nEXDATE;TZID=Europe/Berlin:20990107T090000"
    },
    {"cron": "0 9 * * *", "calendars": ["weekend"], "on_excluded": "before"},
    {
        "cron": "0 9 * * *",
        "changed": [{"at": "2099-01-01T09:00:00Z"}, {"at": "2099-01-02T09:00:00Z", "to": "2099-01-02T10:00:00Z"}],
    },
    "every weekday at 9:00 Europe/Berlin",
    "every 3 days at 9:00",
    "every 2 weeks on monday at 9:00",
    "15 minutes after each run ends",
    "15m",
    "P1Y",
    "FREQ=DAILY",
]
TARGETS: list[Any] = [
    CALL,
    {
        "url": URL,
        "method": "PUT",
        "headers": {"On": "no", "X-Date": "2026-03-29"},
        "body": {"a": [1, 1.5, None, "1e5"]},
    },
    {"url": URL, "body": "line\nline\n"},
    {"url": URL, "body_base64": "AAECAw=="},
    {"url": URL, "connect_timeout": "2s", "expected_status": [200, "3xx"], "keep_headers": ["x-a"], "sign": False},
    {"url": URL, "tls": {"verify": False}},
    {"task": "report", "args": {"day": "2026-03-29", "n": 0, "deep": {"on": [True]}}},
    {"task": "report"},
]
POLICIES: list[Any] = [
    {"retry": {"max_attempts": 2, "backoff": "list", "delays": ["1s", "1m"], "retry_on": [503, "timeout"]}},
    {"misfire": {"policy": "fire_all", "window": "2h", "cap": 5}, "delivery": "at_most_once"},
    {"concurrency": 5},
    {"concurrency": {"limit": 5, "key": "x"}, "overlap": "queue_one", "rate": {"limit": 100, "per": "1m"}},
    {"queue": "q", "priority": 0, "fairness_key": "f", "region": "eu", "requires": ["gpu", "a"], "tags": ["on", "a b"]},
    {"timeout": "90s", "run_timeout": "1h", "expires_after": "5m"},
    {"retention": "7d"},
    {"dedupe_key": "k"},
    {"dedupe_key": "k", "dedupe_window": "1h", "dedupe_states": ["failed", "ready"], "on_conflict": "ignore"},
    {"notify": {"url": URL}},
    {"notify": {"url": URL, "on": [], "late_after": "PT5M"}},
    {"notify": {"url": URL, "on": ["cancelled", "failed"], "headers": {"X-A": "b"}}},
]


def planned(
    client: PlainClient, text: str, *, prune: bool = False, adopt: bool = False, owner: str | None = None
) -> tuple[Plan, Answer]:
    reading = read_files([File("jobs.yaml", text)], owner=owner)
    assert reading.faults == []
    answer = ask(client, reading.declared, reading.owners, adopt=adopt)
    if answer.faults:
        return Plan(steps=[]), answer
    plan = make_plan(reading.declared, answer.found, prune=reading.owners if prune else (), owned=answer.owned)
    return with_fires(client, plan, answer.found), answer


def applied(client: PlainClient, text: str, *, prune: bool = False, adopt: bool = False) -> list[tuple[str, str, End]]:
    plan, answer = planned(client, text, prune=prune, adopt=adopt)
    assert answer.faults == []
    return [(outcome.step.action.value, outcome.step.name, outcome.end) for outcome in carry_out(client, plan)]


def faults(client: PlainClient, text: str, *, adopt: bool = False) -> list[str]:
    return [str(fault) for fault in planned(client, text, adopt=adopt)[1].faults]


def every_kind() -> list[dict[str, Any]]:
    return [
        *({"name": f"schedule {n}", "target": CALL, "schedule": one} for n, one in enumerate(SCHEDULES)),
        *({"name": f"target {n}", "target": one} for n, one in enumerate(TARGETS)),
        *({"name": f"policy {n}", "target": CALL, **one} for n, one in enumerate(POLICIES)),
    ]


@pytest.mark.parametrize("owner", ["shop", None])
def test_what_is_exported_and_applied_changes_nothing(client: PlainClient, owner: str | None) -> None:
    client.calendars.put("weekend", weekdays=["SAT", "SUN"])
    text = to_yaml([{"owner": owner, "jobs": every_kind()}])
    done = applied(client, text)
    assert [(action, end) for action, _, end in done] == [("create", End.DONE)] * len(every_kind())
    before = {job["id"]: job for job in client.jobs.list(page_size=500)}
    # The file as it was written, and the file that the server gives.
    for again in (text, to_yaml(documents_of(before.values()))):
        plan, answer = planned(client, again, prune=True)
        assert answer.faults == []
        assert [(step.name, msgspec.to_builtins(step.differences)) for step in plan.steps if step.differences] == []
        assert plan.changes == 0
        assert len(plan.steps) == len(before)
    assert {job["id"]: job for job in client.jobs.list(page_size=500)} == before


def test_an_export_makes_the_same_jobs_on_another_server(client: PlainClient) -> None:
    jobs = [job for job in every_kind() if "allow_past" not in str(job) and "calendars" not in str(job)]
    applied(client, to_yaml([{"owner": "shop", "jobs": jobs}]))
    exported = to_yaml(documents_of(client.jobs.list(page_size=500)))
    for job in list(client.jobs.list(page_size=500)):
        client.jobs.delete(job["id"])
    assert len(applied(client, exported)) == len(jobs)
    assert to_yaml(documents_of(client.jobs.list(page_size=500))) == exported


def test_asking_writes_nothing(client: PlainClient, api: ServedApi) -> None:
    api.create(name="a", tags=["owner:apply"], schedule="0 9 * * *")
    before = list(client.jobs.list())
    plan, _ = planned(client, "jobs: [{name: b, target: {task: t}}, {name: a, target: {task: t}}]", prune=True)
    assert [step.action for step in plan.steps] == [Action.CREATE, Action.UPDATE]
    assert list(client.jobs.list()) == before


def test_all_that_the_server_refuses_is_told_at_once_with_its_place(client: PlainClient, api: ServedApi) -> None:
    api.create(name="there", tags=["owner:apply"])
    api.create(name="nobodys")
    api.create(name="others", tags=["owner:shop"])
    text = """
jobs:
  - name: new
    target: {url: ftp://x}
    schedule:
      cron: 0 0 31 2 *
  - name: there
    target:
      task: t
    priority: 10
  - name: nobodys
    target: {task: t}
  - name: others
    target: {task: t}
  - name: fine
    target: {task: t}
  - name: empty
"""
    found = faults(client, text)
    assert [line.partition(" ")[0] for line in found] == [
        "jobs.yaml:6:",
        "jobs.yaml:4:",
        "jobs.yaml:10:",
        "jobs.yaml:11:",
        "jobs.yaml:13:",
        "jobs.yaml:17:",
    ]
    assert "new: schedule.cron: '0 0 31 2 *' never fires" in found[0]
    assert "there: priority: must be between 0 and 9" in found[2]
    assert "nobodys: name: " in found[3]
    assert "belongs to nobody: --adopt takes it over" in found[3]
    assert "belongs to shop: --adopt takes it over" in found[4]
    assert "empty: target: is required" in found[5]
    assert len(list(client.jobs.list())) == 3


def test_a_job_is_adopted_only_if_asked(client: PlainClient, api: ServedApi) -> None:
    job = api.create(name="a", tags=["x"], priority=1)
    text = "jobs: [{name: a, target: {url: 'http://127.0.0.1:9/'}}]"
    assert len(faults(client, text)) == 1
    plan, _ = planned(client, text, adopt=True)
    assert plan.steps[0].adopted_from == ""
    assert [one.field for one in plan.steps[0].differences] == ["priority", "tags"]
    assert applied(client, text, adopt=True) == [("update", "a", End.DONE)]
    assert client.jobs.get(job["id"])["tags"] == ["owner:apply"]
    assert faults(client, text) == []


def test_names_that_begin_alike_are_not_confused(client: PlainClient, api: ServedApi) -> None:
    api.create(name="sync-2")
    assert applied(client, "jobs: [{name: sync, target: {task: t}}]") == [("create", "sync", End.DONE)]
    assert "sync-2" in faults(client, "jobs: [{name: sync-2, target: {task: t}}]")[0]


def test_a_job_that_was_changed_since_the_plan_stays_and_the_rest_goes_on(client: PlainClient, api: ServedApi) -> None:
    text = "jobs: [{name: %s, target: {task: t}, priority: %d}, {name: %s, target: {task: t}, priority: %d}]"
    applied(client, text % ("a", 1, "b", 1))
    applied(client, text % ("c", 1, "d", 1))
    plan, _ = planned(client, (text % ("a", 2, "b", 2)) + "\n---\n" + (text % ("e", 2, "f", 2)), prune=True)
    ids = {job["name"]: job["id"] for job in client.jobs.list()}
    client.jobs.patch(ids["a"], {"priority": 7})
    client.jobs.patch(ids["c"], {"priority": 7})
    api.create(name="e")
    done = {outcome.step.name: outcome for outcome in carry_out(client, plan)}
    assert {name: outcome.end for name, outcome in done.items()} == {
        "a": End.CONFLICT,
        "b": End.DONE,
        "c": End.CONFLICT,
        "d": End.DONE,
        "e": End.CONFLICT,
        "f": End.DONE,
    }
    assert "version 2, not 1" in done["a"].reason
    assert "taken" in done["e"].reason
    assert {job["name"]: job["priority"] for job in client.jobs.list()} == {"a": 7, "b": 2, "c": 7, "e": 5, "f": 2}


def test_fires_are_told_for_a_schedule_that_changes(client: PlainClient) -> None:
    text = "jobs: [{name: a, target: {task: t}, schedule: %s}]"
    applied(client, text % "{at: '2099-01-01T00:00:00Z'}")
    plan, _ = planned(client, text % "{cron: 0 9 * * *, timezone: Asia/Tokyo, start_at: '2099-01-01T00:00:00Z'}")
    fires = plan.steps[0].fires
    assert fires is not None
    assert [fire["utc"] for fire in fires.before] == ["2099-01-01T00:00:00.000Z"]
    assert [fire["local"] for fire in fires.after] == [f"2099-01-0{day}T09:00:00+09:00" for day in (1, 2, 3)]
    plan, _ = planned(client, text % "null")
    assert plan.steps[0].fires is not None
    assert plan.steps[0].fires.after == []


def test_single_occurrences_that_people_changed_stay_while_the_schedule_does(client: PlainClient) -> None:
    text = "jobs: [{name: a, target: {task: t}, schedule: %s, priority: %d}]"
    applied(client, text % ("every day at 9:00", 5))
    (job,) = client.jobs.list()
    skipped = client.jobs.occurrences(job["id"], from_="2099-01-01T00:00:00Z", page_size=1).page()["items"][0][
        "scheduled_at"
    ]
    client.jobs.skip(job["id"], skipped)
    assert planned(client, text % ("every day at 9:00", 5))[0].changes == 0
    assert applied(client, text % ("every day at 9:00", 6)) == [("update", "a", End.DONE)]
    assert client.jobs.get(job["id"])["schedule"]["changed"] == [{"at": skipped}]
    plan, _ = planned(client, text % ("every day at 10:00", 6))
    assert {one.field for one in plan.steps[0].differences} == {"schedule.cron", "schedule.changed"}
    assert applied(client, text % ("15 minutes after each run ends", 6)) == [("update", "a", End.DONE)]
    assert "changed" not in client.jobs.get(job["id"])["schedule"]


def test_a_paused_job_stays_paused(client: PlainClient) -> None:
    text = "jobs: [{name: a, target: {task: t}, schedule: 15m, priority: %d}]"
    applied(client, text % 5)
    (job,) = client.jobs.list()
    client.jobs.pause(job["id"], note="why")
    assert planned(client, text % 5)[0].changes == 0
    assert applied(client, text % 6) == [("update", "a", End.DONE)]
    changed = client.jobs.get(job["id"])
    assert (changed["state"], changed["pause_note"], changed["priority"]) == ("paused", "why", 6)


def test_many_jobs_take_few_calls() -> None:
    jobs = [{"name": str(n)} for n in range(1_001)]
    assert [len(some) for some in in_calls(jobs, lambda job: job)] == [500, 500, 1]
    large = [{"name": "x" * 6_000_000} for _ in range(5)]
    pieces = list(in_calls(large, lambda job: job))
    assert [len(some) for some in pieces] == [2, 2, 1]
    assert all(len(encode(some)) < 16 * 1024 * 1024 for some in pieces)
    assert list(in_calls([], lambda job: job)) == []
