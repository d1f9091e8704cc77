"""What files declare, and what is wrong with them: everything is told at once, with file, line, job and field."""

from typing import Any

import pytest

from dueline.declared.documents import File, Reading, read_files
from dueline.declared.owners import OWNER_LETTERS_MAX, owner_problem, owner_tag
from dueline.domain import limits


def declare(*texts: str, owner: str | None = None) -> Reading:
    return read_files([File(f"{number}.yaml", text) for number, text in enumerate(texts)], owner=owner)


def told(*texts: str) -> list[str]:
    return [str(fault) for fault in declare(*texts).faults]


def test_jobs_of_many_files_and_documents_in_their_order() -> None:
    reading = declare(
        "jobs:\n- {name: a}\n- {name: b}\n---\nowner: shop\njobs: [{name: c, tags: [x]}]", "name: d\ntarget: {}"
    )
    assert reading.faults == []
    assert [(one.name, one.owner, one.file, one.line) for one in reading.declared] == [
        ("a", "apply", "0.yaml", 2),
        ("b", "apply", "0.yaml", 3),
        ("c", "shop", "0.yaml", 6),
        ("d", "apply", "1.yaml", 1),
    ]
    assert [one.job["tags"] for one in reading.declared] == [
        ["owner:apply"],
        ["owner:apply"],
        ["x", "owner:shop"],
        ["owner:apply"],
    ]
    assert reading.owners == ["apply", "shop"]


def test_an_owner_that_is_given_counts_in_place_of_what_files_say() -> None:
    reading = declare("owner: shop\njobs: [{name: a}]\n---\nowner: null\njobs: [{name: b}]", owner="me")
    assert [one.owner for one in reading.declared] == ["me", "me"]
    assert reading.owners == ["me"]


def test_jobs_of_nobody_get_no_tag() -> None:
    reading = declare("owner: null\njobs: [{name: a, tags: [x]}, {name: b}]")
    assert [one.job for one in reading.declared] == [{"name": "a", "tags": ["x"]}, {"name": "b"}]
    assert (reading.owners, reading.faults) == ([], [])


def test_an_owner_without_jobs_is_an_owner() -> None:
    assert declare("owner: shop\njobs: []") == Reading([], ["shop"], [])


def test_a_member_of_ones_own_is_left_alone() -> None:
    reading = declare("x-mail: &mail {queue: mail}\njobs: [{name: a, <<: *mail}]")
    assert (reading.faults, reading.declared[0].job["queue"]) == ([], "mail")


def test_a_list_holds_documents() -> None:
    reading = read_files([File("a.json", '[{"owner": "x", "jobs": [{"name": "a"}]}, {"name": "b"}]')])
    assert [(one.name, one.owner) for one in reading.declared] == [("a", "x"), ("b", "apply")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# nothing", "0.yaml:1: holds no jobs; if none is what you want, write jobs: []"),
        ("---\n---\n", "0.yaml:1: holds no jobs; if none is what you want, write jobs: []"),
        ("jobs", "0.yaml:1: must be an object with jobs, such as jobs: [{name: …, target: …}]"),
        ("jobs:\n  name: a", "0.yaml:1: jobs: must be a list of jobs"),
        ("owner: x", "0.yaml:1: jobs: must be a list of jobs"),
        ("jobs:\n- a", "0.yaml:2: jobs: must hold objects, a job each"),
        ("jobs:\n- target: {}", "0.yaml:2: name: is required: jobs are known by their names"),
        ("jobs:\n- target: {}\n  name: 5", "0.yaml:3: name: is required: jobs are known by their names"),
        ("jobs:\n- name: ''", "0.yaml:2: name: is required: jobs are known by their names"),
        ("jobs: []\nonwer: x", "0.yaml:2: onwer: unknown field: did you mean owner?"),
        ("jobs: []\natomic: true", "0.yaml:2: atomic: unknown field; known: jobs, owner"),
        ("jobs: []\nowner: 5", "0.yaml:2: owner: must be text, or null for nobody's"),
        ("jobs: []\nowner: a b", f"0.yaml:2: owner: {owner_problem('a b')}"),
        (
            "jobs:\n- name: a\n  tags:\n  - x\n  - owner:me",
            "0.yaml:5: a: tags[1]: 'owner:me' says whose the job is: say owner beside jobs",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, expected: str) -> None:
    assert told(text) == [expected]


def test_a_name_is_declared_once_over_all_files() -> None:
    assert told("jobs: [{name: a}, {name: b}]", "jobs:\n- name: c\n- name: a") == [
        "1.yaml:3: a: name: is declared twice, first at 0.yaml:1"
    ]


def test_everything_is_told_at_once() -> None:
    found = told("jobs: [{name: a}, 5, {}]", "jobs: [", "jobs: [{name: a}]")
    assert [line.partition(":")[0] for line in found] == ["0.yaml", "0.yaml", "1.yaml", "2.yaml"]


@pytest.mark.parametrize(
    "schedule",
    ["tomorrow at 9:00", "in 2 hours", "today at 23:00", "every day at 9:00 from tomorrow"],
)
def test_a_schedule_that_means_another_time_whenever_it_is_read_is_refused(schedule: str) -> None:
    for text in (f"schedule: {schedule}", f"schedule: {{text: {schedule}, jitter: 5m}}"):
        (line,) = told(f"jobs:\n- name: a\n  {text}")
        assert line.startswith("0.yaml:3: a: schedule")
        assert "write out the date" in line


@pytest.mark.parametrize(
    "schedule",
    [
        "every weekday at 9:00",
        "every 3 days at 9:00",
        "15m",
        "2027-01-01T09:00:00Z",
        "every blue moon",
        "",
        "0 9 * * *",
    ],
)
def test_other_schedules_are_left_to_the_server(schedule: str) -> None:
    assert told(f"jobs:\n- name: a\n  schedule: '{schedule}'") == []


@pytest.mark.parametrize("tags", [None, "x", 5, {"a": 1}])
def test_tags_that_are_no_list_are_left_to_the_server(tags: Any) -> None:
    reading = read_files([File("a.yaml", f"jobs: [{{name: a, tags: {'null' if tags is None else tags}}}]")])
    assert reading.faults == []
    assert not isinstance(reading.declared[0].job["tags"], list)


def test_an_owner_fits_into_a_tag() -> None:
    assert owner_problem("a" * OWNER_LETTERS_MAX) is None
    assert len(owner_tag("a" * OWNER_LETTERS_MAX)) == limits.TAG_LETTERS_MAX
    assert owner_problem("a" * (OWNER_LETTERS_MAX + 1)) is not None
    assert owner_problem("") is not None


def test_a_fault_of_the_server_is_placed_in_its_file() -> None:
    (one,) = declare("jobs:\n- name: a\n  schedule:\n    cron: x\n").declared
    assert str(one.fault("schedule.cron", "wrong")) == "0.yaml:4: a: schedule.cron: wrong"
    assert str(one.fault("target", "is required")) == "0.yaml:2: a: target: is required"
    assert str(one.fault("body", "is too large")) == "0.yaml:2: a: is too large"
