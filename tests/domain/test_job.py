"""A definition as the JSON that a row keeps."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.job import Definition, Delivery, Execution, HttpTarget, Notify, Tls
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.retry import Backoff, Conditions, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, OnExcluded, Repeat, Rule, Schedule
from dueline.domain.states import RunState

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(0, 2**53)
bodies = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
statuses = st.lists(st.tuples(st.integers(100, 599), st.integers(100, 599)), max_size=3).map(tuple)
targets = st.builds(
    HttpTarget,
    url=texts,
    method=texts,
    headers=st.dictionaries(texts, texts, max_size=3),
    body=bodies,
    body_bytes=st.none() | st.binary(max_size=20),
    connect_timeout_ms=st.none() | numbers,
    expected_status=statuses,
    keep_headers=st.none() | st.lists(texts, max_size=2).map(tuple),
    tls=st.none() | st.builds(Tls, verify=st.booleans(), ca=st.none() | texts),
    sign=st.booleans(),
)
conditions = st.builds(Conditions, statuses, st.lists(st.sampled_from(OutcomeKind), max_size=2).map(tuple))
retries = st.builds(
    RetryPolicy,
    delays_ms=st.lists(numbers, max_size=3).map(tuple),
    max_elapsed_ms=st.none() | numbers,
    retry_on=st.none() | conditions,
    never_on=st.none() | conditions,
    max_attempts=numbers,
    backoff=st.sampled_from(Backoff),
    base_ms=numbers,
    cap_ms=numbers,
    max_lost=numbers,
)
notifies = st.builds(
    Notify,
    url=texts,
    on=st.lists(st.sampled_from(RunState), max_size=2).map(tuple),
    headers=st.dictionaries(texts, texts, max_size=2),
    sign=st.booleans(),
    late_after_ms=st.none() | numbers,
)
executions = st.builds(
    Execution,
    target=targets,
    retry=retries,
    timeout_ms=numbers,
    run_timeout_ms=st.none() | numbers,
    delivery=st.sampled_from(Delivery),
    notify=st.none() | notifies,
)
shapes: dict[str, Any] = {
    "timezone": texts,
    "start_ms": st.none() | numbers,
    "end_ms": st.none() | numbers,
    "max_runs": st.none() | numbers,
    "jitter_ms": numbers,
    "calendars": st.lists(texts, max_size=2).map(tuple),
    "on_excluded": st.sampled_from(OnExcluded),
    "changed": st.lists(st.builds(ChangedOccurrence, numbers, st.none() | numbers), max_size=2).map(tuple),
}
clock_changes: dict[str, Any] = {"dst_gap": st.sampled_from(DstGap), "dst_overlap": st.sampled_from(DstOverlap)}
schedules = st.one_of(
    st.none(),
    st.builds(At, numbers, **shapes),
    st.builds(Cron, texts, hashed=texts, **clock_changes, **shapes),
    st.builds(Every, numbers, numbers, **shapes),
    st.builds(After, numbers, numbers, **shapes),
    st.builds(Repeat, numbers, numbers, numbers, numbers, st.none() | numbers, **clock_changes, **shapes),
    st.builds(Rule, texts, numbers, st.lists(numbers, max_size=2).map(tuple), **clock_changes, **shapes),
)
definitions = st.builds(
    Definition,
    name=texts,
    execution=executions,
    schedule=schedules,
    queue=texts,
    priority=st.integers(0, 9),
    region=texts,
    overlap=st.sampled_from(Overlap),
    misfire=st.builds(Misfire, policy=st.sampled_from(MisfirePolicy), window_ms=numbers, cap=numbers),
    tags=st.lists(texts, max_size=3).map(tuple),
)
PLAIN = Definition(name="nightly", execution=Execution(target=HttpTarget(url="http://target/")))


@given(definitions)
def test_what_is_written_is_read_as_the_same(definition: Definition) -> None:
    assert msgspec.json.decode(msgspec.json.encode(definition), type=Definition) == definition


def test_defaults_take_no_room() -> None:
    assert msgspec.json.decode(msgspec.json.encode(PLAIN)) == {
        "name": "nightly",
        "execution": {"target": {"type": "http", "url": "http://target/"}},
    }


def test_a_row_of_an_older_release_gets_the_defaults() -> None:
    row = b'{"name": "nightly", "execution": {"target": {"type": "http", "url": "http://target/"}}}'
    assert msgspec.json.decode(row, type=Definition) == PLAIN


def test_a_field_of_a_newer_release_is_passed_over() -> None:
    row = msgspec.json.decode(msgspec.json.encode(PLAIN)) | {"colour": "green"}
    assert msgspec.json.decode(msgspec.json.encode(row), type=Definition) == PLAIN


@pytest.mark.parametrize("body", [False, 0, 0.0, "", [], {}, [None], {"a": None}])
def test_an_empty_body_is_not_taken_for_none(body: Any) -> None:
    target = HttpTarget(url="http://target/", body=body)
    read = msgspec.json.decode(msgspec.json.encode(target), type=HttpTarget)
    assert read.body == body
    assert type(read.body) is type(body)


@pytest.mark.parametrize(
    ("schedule", "written"),
    [
        (At(5), {"type": "at", "at_ms": 5}),
        (
            Cron("0 0 * * *", timezone="Europe/Berlin"),
            {"type": "cron", "expression": "0 0 * * *", "timezone": "Europe/Berlin"},
        ),
        (
            Cron("H 0 * * *", dst_gap=DstGap.SKIP, dst_overlap=DstOverlap.BOTH, hashed="7 0 * * *"),
            {
                "type": "cron",
                "expression": "H 0 * * *",
                "dst_gap": "skip",
                "dst_overlap": "both",
                "hashed": "7 0 * * *",
            },
        ),
        (Every(1_000, 7), {"type": "every", "period_ms": 1_000, "anchor_ms": 7}),
        (After(1_000, 7), {"type": "after", "delay_ms": 1_000, "first_ms": 7}),
        (Repeat(7, months=1, times=3), {"type": "repeat", "anchor_ms": 7, "months": 1, "times": 3}),
        (Rule("FREQ=DAILY", 7), {"type": "rrule", "rule": "FREQ=DAILY", "anchor_ms": 7}),
        (
            At(
                5,
                end_ms=9,
                max_runs=2,
                jitter_ms=3,
                calendars=("holidays",),
                on_excluded=OnExcluded.AFTER,
                changed=(ChangedOccurrence(5), ChangedOccurrence(6, 8)),
            ),
            {
                "type": "at",
                "at_ms": 5,
                "end_ms": 9,
                "max_runs": 2,
                "jitter_ms": 3,
                "calendars": ["holidays"],
                "on_excluded": "after",
                "changed": [[5, None], [6, 8]],
            },
        ),
    ],
)
def test_a_schedule_says_of_which_kind_it_is(schedule: Schedule, written: dict[str, Any]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(schedule)) == written


def test_a_cron_schedule_of_an_older_release_gets_the_defaults() -> None:
    row = b'{"type": "cron", "expression": "0 0 * * *", "timezone": "UTC"}'
    assert msgspec.json.decode(row, type=Cron) == Cron("0 0 * * *")
    assert Cron("0 0 * * *").concrete == "0 0 * * *"
