"""Plans: what is to be done so that a server has what files declare."""

from typing import Any

import msgspec
import pytest

from dueline.declared.documents import Declared, File, read_files
from dueline.declared.plans import Action, Found, Plan, make_plan
from dueline.wire.differences import differences
from tests.declared.views import shown


def declared(text: str) -> list[Declared]:
    reading = read_files([File("jobs.yaml", text)])
    assert reading.faults == []
    return reading.declared


def planned(text: str, *, there: list[dict[str, Any]], prune: tuple[str, ...] = ()) -> Plan:
    """The plan against a server that has some jobs; each declared job would become what its text says."""
    jobs = declared(text)
    becoming = {one.name: shown(**one.job) for one in jobs}
    current = {job["name"]: job for job in there if job["name"] in becoming}
    found = Found(current=current, becoming=becoming, sent={one.name: one.job for one in jobs})
    return make_plan(jobs, found, prune=prune, owned=there)


def told(plan: Plan) -> list[tuple[str, str]]:
    return [(step.action.value, step.name) for step in plan.steps]


def test_what_is_missing_is_created_and_what_differs_is_updated() -> None:
    there = [shown(name="b", tags=["owner:apply"]), shown(name="c", tags=["owner:apply"], version=7)]
    plan = planned("jobs: [{name: a}, {name: b}, {name: c, priority: 9}]", there=there)
    assert told(plan) == [("create", "a"), ("unchanged", "b"), ("update", "c")]
    assert plan.changes == 2
    assert plan.sent.keys() == {"a", "c"}
    update = plan.of(Action.UPDATE)[0]
    assert (update.id, update.version, update.file, update.line) == (there[1]["id"], 7, "jobs.yaml", 1)
    assert msgspec.to_builtins(update.differences) == [{"field": "priority", "old": 5, "new": 9}]


def test_only_jobs_of_the_owner_are_pruned_and_only_if_asked() -> None:
    there = [
        shown(name="z", tags=["owner:apply"]),
        shown(name="m", tags=["x", "owner:apply"], version=3),
        shown(name="other", tags=["owner:shop"]),
        shown(name="nobodys", tags=["apply", "owner"]),
        shown(name="first-counts", tags=["owner:shop", "owner:apply"]),
        shown(name="a", tags=["owner:apply"]),
    ]
    text = "jobs: [{name: a}]"
    assert told(planned(text, there=there)) == [("unchanged", "a")]
    plan = planned(text, there=there, prune=("apply",))
    assert told(plan) == [("unchanged", "a"), ("delete", "m"), ("delete", "z")]
    assert (plan.steps[1].version, plan.steps[1].owner) == (3, "apply")
    assert told(planned("jobs: []", there=there[2:5], prune=("apply",))) == []


def test_a_job_that_another_file_declares_is_not_pruned() -> None:
    there = [shown(name="a", tags=["owner:apply"])]
    plan = planned("owner: shop\njobs: [{name: a}]\n---\nowner: apply\njobs: []", there=there, prune=("apply", "shop"))
    assert told(plan) == [("update", "a")]
    assert plan.steps[0].adopted_from == "apply"


@pytest.mark.parametrize(("tags", "whose"), [([], ""), (["owner:shop"], "shop"), (["owner:apply"], None)])
def test_a_job_that_changes_hands_says_whose_it_was(tags: list[str], whose: str | None) -> None:
    (step,) = planned("jobs: [{name: a}]", there=[shown(name="a", tags=tags)]).steps
    assert step.adopted_from == whose
    assert step.action is (Action.UNCHANGED if whose is None else Action.UPDATE)


def test_only_a_change_of_the_schedule_moves_it() -> None:
    there = [shown(name=name, tags=["owner:apply"], schedule="0 9 * * *") for name in "abc"]
    plan = planned(
        "jobs: [{name: a, schedule: 0 10 * * *}, {name: b, schedule: 0 9 * * *, queue: q}, {name: c}]", there=there
    )
    assert [step.moves_schedule for step in plan.steps] == [True, False, True]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({}, {"priority": 5, "retry": {}}, []),
        ({"priority": 1}, {"priority": 2}, [("priority", 1, 2)]),
        ({"schedule": "0 9 * * *"}, {"schedule": "0 8 * * *"}, [("schedule.cron", "0 9 * * *", "0 8 * * *")]),
        (
            {"schedule": "0 9 * * *"},
            {"schedule": {"after": "5m", "start_at": "2027-01-01T00:00:00Z"}},
            [
                ("schedule.cron", "0 9 * * *", "gone"),
                ("schedule.timezone", "UTC", "gone"),
                ("schedule.after", "new", "PT5M"),
                ("schedule.start_at", "new", "2027-01-01T00:00:00.000Z"),
            ],
        ),
        (
            {"schedule": None},
            {"schedule": "0 9 * * *"},
            [("schedule", None, {"cron": "0 9 * * *", "timezone": "UTC"})],
        ),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a"]}, []),
        ({"tags": ["a"]}, {"tags": ["b", "a"]}, [("tags", ["a"], ["b", "a"])]),
        (
            {"target": {"url": "http://x/", "body": {"a": {"b": 1, "c": [1]}}}},
            {"target": {"url": "http://x/", "body": {"a": {"b": True, "c": [1, 2], "d": None}}}},
            [
                ("target.body.a.b", 1, True),
                ("target.body.a.c", [1], [1, 2]),
                ("target.body.a.d", "new", None),
            ],
        ),
        (
            {"target": {"url": "http://x/", "headers": {"A": "1"}}},
            {"target": {"url": "http://x/", "headers": {"B": "1"}}},
            [("target.headers.A", "1", "gone"), ("target.headers.B", "new", "1")],
        ),
        ({"timeout": "60s"}, {"timeout": "1m"}, []),
        ({"retry": {"max_attempts": 3}}, {"retry": {"max_attempts": 4}}, [("retry.max_attempts", 3, 4)]),
    ],
)
def test_differences_are_told_by_their_paths(old: Any, new: Any, expected: list[tuple[str, Any, Any]]) -> None:
    found = [msgspec.to_builtins(one) for one in differences(shown(name="a", **old), shown(name="a", **new))]
    assert [(one["field"], one.get("old", "new"), one.get("new", "gone")) for one in found] == expected


def test_what_dueline_sets_is_no_difference() -> None:
    old, new = shown(name="a", version=1), shown(name="a", version=2)
    assert differences(old, {**new, "state": "paused", "updated_at": "2027-01-01T00:00:00.000Z"}) == []
