"""The scenarios and what is told of them."""

from __future__ import annotations

from collections import Counter

import msgspec

from proof import load
from proof.checker.cron import fires_ms
from proof.checker.verdict import judge
from proof.guide import BEGIN, END, GUIDE, HEAD, table
from proof.scenarios import ALL
from proof.scenarios.processes import nothing
from proof.scene import Plan
from tests.proof.logs import clean, spoilt


def test_every_scenario_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(plan.name for plan in ALL).items() if count > 1] == []


def test_every_scenario_is_told_of() -> None:
    page = GUIDE.read_text()
    assert [plan.name for plan in ALL if f"`{plan.name}`" not in page] == []


def test_every_job_of_the_load_has_a_schedule_that_the_judge_knows_and_a_marker_of_its_own() -> None:
    url = "http://127.0.0.1:1"
    asked = [
        *load.jobs(url, 1_767_225_600.0, 1_767_225_640.0),
        *load.hostile_jobs(url, 1_767_225_608.0, 1_767_225_628.0),
        *load.crowded_jobs(url, 1_767_225_608.0, 1_767_225_618.0),
    ]
    due = sum(len(fires_ms(one["schedule"])) for one in asked)
    assert 120 < due / 40 < 200, "some 130 runs a second, and those of two scenarios besides"
    markers = [one["tags"][0] for one in asked]
    assert len(set(markers)) == len(markers)
    assert [one["target"]["body"]["marker"] for one in asked] == markers


def test_a_broken_build_is_as_it_should_be_when_it_is_found() -> None:
    good = judge(clean())
    bad = judge(spoilt(clean(), dead_letters=[]))
    sound = Plan("sound", "nothing happens", nothing)
    broken = Plan("broken", "nothing happens", nothing, breaks=("I13",))
    assert [plan.is_met_by(verdict) for plan in (sound, broken) for verdict in (good, bad)] == [
        True,
        False,
        False,
        True,
    ]


def test_the_page_of_guarantees_has_its_table() -> None:
    page = GUIDE.read_text()
    assert BEGIN in page
    assert END in page
    assert HEAD in page
    row = table([(Plan("sound", "nothing happens", nothing), judge(clean()))]).splitlines()[-1]
    assert row.count("|") == HEAD.splitlines()[0].count("|")
    assert row.startswith("| nothing happens | none | hold | 45 | 2 |")
    broken = msgspec.structs.replace(judge(clean()), broken=["I1"])
    assert "broken: I1" in table([(Plan("sound", "nothing happens", nothing), broken)])
