"""The guide to limits says what is true: its examples are taken, and its numbers are ours."""

import json
import re
from pathlib import Path

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.states import HeldReason
from dueline.wire.bulk import BulkRunsInput
from dueline.wire.jobs import JobInput, to_definition
from dueline.wire.limits import SCOPES
from dueline.wire.problems import Problems
from dueline.wire.reading import encode, read_body
from dueline.wire.runs import to_spec

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "limits.md").read_text()
JOB, RUNS = re.findall(r"```json\n(.*?)```", GUIDE, flags=re.DOTALL)
NOW_MS = 1_767_225_600_000


def test_the_job_of_the_guide_is_taken() -> None:
    problems = Problems()
    form = read_body(encode(json.loads(JOB)), JobInput, problems)
    execution = to_definition(form, problems, job_id=JobId(bytes(16)), now_ms=NOW_MS).execution
    assert execution.concurrency is not None
    assert execution.rate is not None
    assert execution.rate.rate.interval_us == 600_000


def test_the_runs_of_the_guide_are_taken() -> None:
    problems = Problems()
    runs = read_body(encode(json.loads(RUNS)), BulkRunsInput, problems).runs
    assert isinstance(runs, list)
    for run in runs:
        to_spec(run, problems, now_ms=NOW_MS)
    assert problems.found == []


def test_the_table_of_the_guide_says_what_can_be_said() -> None:
    for text in re.findall(r"^\|.*\| `(\".*)` \|$", GUIDE, flags=re.MULTILINE):
        problems = Problems()
        said = json.loads(f"{{{text}}}") | {"target": {"url": "http://x/", "body": {"customer": "ada"}}}
        to_definition(read_body(encode(said), JobInput, problems), problems, job_id=JobId(bytes(16)), now_ms=NOW_MS)


def test_every_reason_scope_and_number_is_in_the_guide() -> None:
    for reason in (HeldReason.CONCURRENCY, HeldReason.RATE, HeldReason.THROTTLED):
        assert f"`{reason}`" in GUIDE
    for scope in SCOPES:
        assert f"dueline limit set {scope} " in GUIDE
    assert limits.LIMITS_FRESH_S < 5
    assert f"its lease ({limits.LEASE_S:g} s)" in GUIDE
