"""Lines of iCalendar text."""

from datetime import date

import pytest

from dueline.domain.contentlines import ContentLine, Stamp, read_line, read_stamp, unfolded


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("A:1\nB:2", [(1, "A:1"), (2, "B:2")]),
        ("A:1\r\nB:2\r\n", [(1, "A:1"), (2, "B:2")]),
        ("A:1\rB:2", [(1, "A:1"), (2, "B:2")]),
        ("A:1\n 2\n\t3\nB:4", [(1, "A:123"), (4, "B:4")]),
        ("A:1\n  2", [(1, "A:1 2")]),
        ("\n\nA:1\n\n\nB:2\n", [(3, "A:1"), (6, "B:2")]),
    ],
)
def test_lines_are_unfolded_and_keep_the_number_of_their_first(text: str, lines: list[tuple[int, str]]) -> None:
    assert list(unfolded(text)) == lines


@pytest.mark.parametrize(
    ("line", "name", "parameters", "value"),
    [
        ("SUMMARY:Tea: with milk; and sugar", "SUMMARY", {}, "Tea: with milk; and sugar"),
        ("dtstart;tzid=Europe/Berlin:20260101", "DTSTART", {"TZID": "Europe/Berlin"}, "20260101"),
        ('A;B="c:d;e,f";G=h,"i":j', "A", {"B": "c:d;e,f", "G": "h,i"}, "j"),
        ("X-WR-TIMEZONE: UTC ", "X-WR-TIMEZONE", {}, "UTC"),
        ("A:", "A", {}, ""),
    ],
)
def test_a_line_has_a_name_parameters_and_a_value(line: str, name: str, parameters: dict[str, str], value: str) -> None:
    assert read_line(7, line) == ContentLine(7, name, parameters, value)


@pytest.mark.parametrize("line", ["", "A", "A;B", "A;B=c", 'A;B="c:d', ":x", "A B:c", "\u0131:x"])
def test_what_is_no_line_is_none(line: str) -> None:
    assert read_line(1, line) is None


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("20261225", Stamp(date(2026, 12, 25).toordinal(), None, utc=False)),
        ("20261225T093001", Stamp(date(2026, 12, 25).toordinal(), 34_201, utc=False)),
        ("20261225T000000Z", Stamp(date(2026, 12, 25).toordinal(), 0, utc=True)),
        ("20261225Z", None),
        ("20261325", None),
        ("20261225T240000", None),
        ("20261225T0930", None),
        ("2026-12-25", None),
        ("00000101", None),
    ],
)
def test_a_stamp_is_a_date_or_a_time(text: str, stamp: Stamp | None) -> None:
    assert read_stamp(text) == stamp
