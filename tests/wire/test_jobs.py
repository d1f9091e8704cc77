"""Whatever a definition is, its view can be written again and means the same."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.errors import Invalid
from dueline.domain.ids import JobId, new_job_id
from dueline.domain.job import Definition, HttpTarget, Job
from dueline.domain.planning import Position
from dueline.domain.schedule import Cron
from dueline.domain.states import JobState
from dueline.wire.jobs import JobInput, job_view, patched, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_body

NOW_MS = 1_767_225_600_000
JOB_ID = new_job_id(NOW_MS, b"0123456789")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def defined(asked: Any, current: Definition | None = None) -> Definition:
    problems = Problems()
    read = read_body(encode(asked), JobInput, problems)
    return to_definition(read, problems, job_id=JOB_ID, now_ms=NOW_MS, current=current)


def job_of(definition: Definition) -> Job:
    return Job(
        id=JobId(JOB_ID),
        tenant="default",
        state=JobState.ACTIVE,
        version=1,
        definition=definition,
        position=Position(),
        pause_note=None,
        created_ms=NOW_MS,
        updated_ms=NOW_MS,
        since_ms=NOW_MS,
    )


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"schedule": {"at": "2099-01-01T00:00:00.5Z"}},
        {"schedule": {"cron": "@hourly", "timezone": "Asia/Kathmandu"}},
        {"schedule": {"cron": "H H(0-6) * * MON#2", "dst_gap": "run_before", "dst_overlap": "both"}},
        {"schedule": {"cron": "0 9 * * *", "dst_gap": "run_after", "dst_overlap": "first"}},
        {"schedule": {"every": "PT1H30M0.25S"}},
        {"retry": {"base": "0s", "backoff": "fixed"}, "misfire": {"policy": "skip"}, "timeout": "250ms"},
        {"concurrency": 5, "rate": {"limit": 3, "per": "90s", "key": "{{job.name}}"}},
    ],
)
def test_a_view_can_be_written_again(asked: Any) -> None:
    definition = defined({"target": {"url": "http://x/"}, **asked})
    view = decode(encode(job_view(job_of(definition))))
    writable = {name: value for name, value in view.items() if name not in JobInput.READ_ONLY}
    assert defined(writable) == definition
    problems = Problems()
    assert defined(msgspec.to_builtins(patched(definition, {}, problems)), definition) == definition


def test_a_schedule_shows_its_hash_as_it_was_asked_and_its_policies_where_they_are_not_the_default() -> None:
    asked = {"cron": "H 2 * * *", "timezone": "Europe/Berlin", "dst_gap": "skip"}
    definition = defined({"target": {"url": "http://x/"}, "schedule": {**asked, "dst_overlap": "first"}})
    assert decode(encode(job_view(job_of(definition))))["schedule"] == asked
    assert isinstance(definition.schedule, Cron)
    assert definition.schedule.concrete.split()[1:] == ["2", "*", "*", "*"]
    assert definition.schedule.concrete != "H 2 * * *"


def refused_fields(asked: Any) -> list[str]:
    """The fields that a job is refused for; none when it is not."""
    try:
        defined(asked)
    except Invalid as error:
        return [field for field, _ in error.problems]
    return []


@given(body=JSON)
def test_a_payload_is_kept_as_it_is_or_refused(body: Any) -> None:
    asked = {"target": {"url": "http://x/", "body": body}}
    if refused_fields(asked):
        assert refused_fields(asked) == ["target.body"]
        assert "\\u0000" in encode(body).decode()
    else:
        target = defined(asked).execution.target
        assert isinstance(target, HttpTarget)
        assert target.body == body


@given(value=JSON)
def test_no_json_breaks_the_reader(value: Any) -> None:
    target = {"url": "http://x/", "body": value}
    for asked in (
        *(value, {"target": value}, {"target": {"url": value}}, {"schedule": value, "tags": value}),
        {"target": target, "concurrency": value, "rate": value},
        {"target": target, "concurrency": {"limit": 1, "key": value}, "rate": {"limit": value, "per": value}},
        {"target": target, "concurrency": {"limit": 1, "key": "{{body.a}}{{body.0}}"}},
    ):
        refused_fields(asked)


@given(value=JSON)
def test_no_json_breaks_a_patch(value: Any) -> None:
    definition = defined({"target": {"url": "http://x/"}, "schedule": {"every": "PT1H"}})
    for patch in (value, {"target": value}, {"schedule": value}, {"retry": value, "name": value}):
        problems = Problems()
        with suppress(Invalid):
            asked = patched(definition, patch, problems)
            to_definition(asked, problems, job_id=JOB_ID, now_ms=NOW_MS, current=definition)
