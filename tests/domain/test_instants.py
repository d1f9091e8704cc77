"""Instants: whole milliseconds inside, RFC 3339 outside."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.errors import Invalid
from dueline.domain.instants import INSTANT_MS_MAX, format_instant, from_datetime, parse_instant, to_datetime

instants = st.integers(0, INSTANT_MS_MAX)


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_774_747_800_000, "2026-03-29T01:30:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        (INSTANT_MS_MAX, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_an_instant_reads_as_written(at_ms: int, text: str) -> None:
    assert format_instant(at_ms) == text
    assert parse_instant(text, field="at") == at_ms


@given(instants)
def test_text_and_instant_stand_for_each_other(at_ms: int) -> None:
    assert parse_instant(format_instant(at_ms), field="at") == at_ms


@given(instants)
def test_datetime_and_instant_stand_for_each_other(at_ms: int) -> None:
    assert from_datetime(to_datetime(at_ms)) == at_ms


@given(instants, instants)
def test_texts_sort_as_their_instants_do(one_ms: int, other_ms: int) -> None:
    assert (format_instant(one_ms) < format_instant(other_ms)) == (one_ms < other_ms)


@given(st.integers(86_400_000, INSTANT_MS_MAX - 86_400_000), st.integers(-23 * 60, 23 * 60))
def test_the_offset_does_not_change_the_instant(at_ms: int, offset_minutes: int) -> None:
    local = to_datetime(at_ms).astimezone(timezone(timedelta(minutes=offset_minutes)))
    assert parse_instant(local.isoformat(), field="at") == at_ms


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("2026-03-29T03:30:00+02:00", 1_774_747_800_000),
        ("2026-03-28T20:30:00-05:00", 1_774_747_800_000),
        ("2026-03-29T01:30:00+00:00", 1_774_747_800_000),
        ("2026-03-29T01:30:00.25Z", 1_774_747_800_250),
        ("2026-03-29T01:30:00.000999Z", 1_774_747_800_000),
        ("2026-03-29T01:30:00.0009999999Z", 1_774_747_800_000),
        ("2026-03-29 01:30:00Z", 1_774_747_800_000),
        ("2026-03-29T01:30Z", 1_774_747_800_000),
    ],
)
def test_offsets_and_fractions_are_read(text: str, at_ms: int) -> None:
    assert parse_instant(text, field="at") == at_ms


@pytest.mark.parametrize("text", ["2026-03-29T01:30:00", "2026-03-29", "2026-03-29T01:30:00.000"])
def test_a_time_without_an_offset_is_refused_and_told_so(text: str) -> None:
    with pytest.raises(Invalid, match="offset") as refused:
        parse_instant(text, field="schedule.at")
    assert refused.value.problems[0][0] == "schedule.at"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "tomorrow",
        "1774747800",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-03-29T25:00:00Z",
        "2026-03-29T01:60:00Z",
        "2026-03-29T01:30:60Z",
        "2026-03-29T01:30:00+25:00",
        "2026-03-29T01:30:00Z and more",
        "10000-01-01T00:00:00Z",
        "2026-03-29T01:30:00Z\x00",
        "2026-03-29\x0001:30:00Z",
        "2026-03-29x01:30:00Z",
        "2026-W13-7T01:30:00Z",
        "20260329T013000Z",
        "2026-03-29T01Z",
        "\ud800",
        "\N{ARABIC-INDIC DIGIT TWO}026-03-29T01:30:00Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_instant(text, field="schedule.at")
    assert refused.value.problems[0][0] == "schedule.at"


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00+00:01",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:59.999-23:59",
    ],
)
def test_years_before_1970_and_past_9999_are_refused(text: str) -> None:
    with pytest.raises(Invalid, match="1970"):
        parse_instant(text, field="at")


@given(st.text(max_size=40))
def test_any_text_is_an_instant_or_refused(text: str) -> None:
    try:
        at_ms = parse_instant(text, field="at")
    except Invalid:
        return
    assert 0 <= at_ms <= INSTANT_MS_MAX


def test_a_datetime_is_rounded_down() -> None:
    assert from_datetime(datetime(1970, 1, 1, 0, 0, 0, 1_999, tzinfo=UTC)) == 1
