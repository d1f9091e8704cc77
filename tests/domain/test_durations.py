"""Durations of fixed length, in ISO 8601 and in short."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dueline.domain.durations import DAY_MS, format_duration, parse_duration
from dueline.domain.errors import Invalid

MOST_MS = 10_000 * DAY_MS


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("PT15M", 900_000),
        ("P1D", DAY_MS),
        ("P1DT2H", DAY_MS + 7_200_000),
        ("P2W", 14 * DAY_MS),
        ("P1W1D", 8 * DAY_MS),
        ("PT0S", 0),
        ("PT0.25S", 250),
        ("PT0.001S", 1),
        ("PT1.001S", 1_001),
        ("1.001s", 1_001),
        ("PT1.5H", 5_400_000),
        ("PT36H", 129_600_000),
        ("P1DT1H1M1.001S", DAY_MS + 3_661_001),
        ("15m", 900_000),
        ("1h30m", 5_400_000),
        ("500ms", 500),
        ("1m500ms", 60_500),
        ("2w", 14 * DAY_MS),
        ("1d2h3m4s5ms", DAY_MS + 7_384_005),
        ("0.5s", 500),
        ("0s", 0),
        ("  15m\t", 900_000),
        ("P10000D", MOST_MS),
    ],
)
def test_a_duration_is_read(text: str, duration_ms: int) -> None:
    assert parse_duration(text, field="every") == duration_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "P",
        "PT",
        "P1DT",
        "PTS",
        "15",
        "m",
        "-15m",
        "+15m",
        "PT-15M",
        "-PT15M",
        "15 m",
        "1h 30m",
        "15M",
        "pt15m",
        "P1M",
        "P1Y",
        "P1Y2M3D",
        "PT1D",
        "PT1S1M",
        "P1H",
        "1.5.5s",
        ".5s",
        "5.s",
        "1,5s",
        "1e3s",
        "infs",
        "nans",
        "0x10s",
        "\N{FULLWIDTH DIGIT ONE}5m",
        "\N{ARABIC-INDIC DIGIT THREE}m",
        "15m\x00",
        "15m15",
        "0.1234567s",
        "1234567890123s",
    ],
)
def test_what_is_no_duration_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(Invalid, match="is not a duration") as refused:
        parse_duration(text, field="schedule.every")
    assert refused.value.problems[0][0] == "schedule.every"


@pytest.mark.parametrize(("text", "inside"), [("999ms", False), ("1s", True), ("1m", True), ("60001ms", False)])
def test_bounds_are_inclusive(text: str, inside: bool) -> None:
    if inside:
        parse_duration(text, field="every", least_ms=1_000, most_ms=60_000)
    else:
        with pytest.raises(Invalid, match="between PT1S and PT1M"):
            parse_duration(text, field="every", least_ms=1_000, most_ms=60_000)


@pytest.mark.parametrize("text", ["P10000DT0.001S", "999999999999w", "P999999999999W", "P999999999999D"])
def test_a_duration_that_no_calendar_bears_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="between"):
        parse_duration(text, field="every")


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.001S"),
        (250, "PT0.25S"),
        (1_000, "PT1S"),
        (59_999, "PT59.999S"),
        (60_000, "PT1M"),
        (900_000, "PT15M"),
        (3_600_000, "PT1H"),
        (DAY_MS, "P1D"),
        (DAY_MS + 7_200_000, "P1DT2H"),
        (7 * DAY_MS, "P7D"),
        (DAY_MS - 1, "PT23H59M59.999S"),
    ],
)
def test_a_duration_is_written_in_its_largest_exact_units(duration_ms: int, text: str) -> None:
    assert format_duration(duration_ms) == text


@given(st.integers(0, MOST_MS))
@example(MOST_MS - 1)
def test_what_is_written_is_read_as_the_same(duration_ms: int) -> None:
    assert parse_duration(format_duration(duration_ms), field="every") == duration_ms


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 100), st.integers(0, 10_000), st.integers(0, 9_999))
def test_both_forms_mean_the_same(days: int, hours: int, minutes: int, seconds: int, thousandths: int) -> None:
    expected_ms = ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1_000 + thousandths
    whole, part = divmod(seconds * 1_000 + thousandths, 1_000)
    assert parse_duration(f"P{days}DT{hours}H{minutes}M{whole}.{part:03}S", field="every") == expected_ms
    assert parse_duration(f"{days}d{hours}h{minutes}m{seconds}s{thousandths}ms", field="every") == expected_ms


@given(st.text(alphabet="PTWDHMSdhmsw.0159 ", max_size=20))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        duration_ms = parse_duration(text, field="every")
    except Invalid:
        return
    assert 0 <= duration_ms <= MOST_MS
