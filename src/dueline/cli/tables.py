"""What is drawn: lines, bars, and tables that fit a terminal, where what matters least goes first, and what matters most is never cut."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dueline.cli.times import short_time
from dueline.domain.texts import CONTROL
from dueline.wire.reading import encode

WIDTH_PIPED = 1_000
"""Columns of a table that goes to a program or a file: nothing is cut there."""
BAR_LETTERS_MIN = 10
_EIGHTHS = "▏▎▍▌▋▊▉"
GAP = 2
"""Columns of the terminal between two of a table."""
CELL_LETTERS_MIN = 8
"""Less than this of a long cell tells nothing."""
WRAPPED_LETTERS_MIN = 12
"""A cell that goes on in the next line can be narrower than what it says, and yet not as narrow as a word."""
WRAPPED_LINES_MAX = 4
"""So that one long error does not fill the page; all of it is shown where one thing is."""
_NONE: Mapping[str, int] = MappingProxyType({})
_STATE_STYLES = {
    "active": "green",
    "succeeded": "green",
    "running": "cyan",
    "paused": "yellow",
    "held": "yellow",
    "retrying": "yellow",
    "failed": "red",
    "expired": "red",
    "cancelled": "dim",
    "finished": "dim",
    "fired": "green",
    "late": "yellow",
    "coalesced": "cyan",
    "skipped": "magenta",
    "waiting": "yellow",
    "alive": "green",
    "draining": "yellow",
    "expected": "dim",
}


def table_of(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    uncut: Sequence[str] = (),
    spare: Sequence[str] = (),
    times: Sequence[str] = (),
    wraps: str | None = None,
    least: Mapping[str, int] = _NONE,
    width: int,
    now_ms: int | None = None,
    header_style: str = "bold",
) -> Table:
    """A table that is no wider than so much. Where it is too wide, `spare` columns go in their order, then the last ones, before another is
    cut below its `least` letters. `uncut` columns show in full, or not at all. `times` are short where it is known what time it is now.
    `wraps` goes on in the next line."""
    short = {place for place, name in enumerate(columns) if name in times and now_ms is not None}
    cells = [
        [_time(value, now_ms or 0) if place in short else cell(value) for place, value in enumerate(row)]
        for row in rows
    ]
    natural = [max([cell_len(name), *(row[place].cell_len for row in cells)]) for place, name in enumerate(columns)]
    needed = [
        letters if name in uncut or name in times else min(letters, least.get(name, _least(name, wraps=name == wraps)))
        for name, letters in zip(columns, natural, strict=True)
    ]
    widths = fitting(natural, needed, _leaving(columns, spare=spare, uncut=uncut, wraps=wraps), width)
    table = Table(box=None, pad_edge=False, header_style=header_style)
    for place, letters in widths.items():
        table.add_column(columns[place], no_wrap=columns[place] != wraps, overflow="ellipsis", width=letters)
    for row in cells:
        table.add_row(
            *(_wrapped(row[place], widths[place]) if columns[place] == wraps else row[place] for place in widths)
        )
    return table


def fitting(natural: Sequence[int], least: Sequence[int], leaving: Sequence[int], most: int) -> dict[int, int]:
    """How wide each column becomes that is shown, by its place. Columns are left out in the order of `leaving` while what is left would be
    cut below its least; then the longest are cut first."""
    shown = dict(enumerate(natural))
    waiting = [*leaving]
    while len(shown) > 1 and waiting and _needed([least[place] for place in shown]) > most:
        del shown[waiting.pop(0)]
    while _needed(shown.values()) > most:
        longer = [place for place in shown if shown[place] > least[place]]
        if not longer:
            break
        shown[max(longer, key=lambda place: shown[place])] -= 1
    return shown


def record_of(record: Mapping[str, Any]) -> Table:
    """One thing, a field a line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in record.items():
        table.add_row(name, cell(value))
    return table


def bars_of(bars: Sequence[tuple[str, float, str]], width: int) -> Table:
    """Rows of a label, a bar as long as its number, and a text."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    texts = max((len(label) + len(text) for label, _, text in bars), default=0)
    letters = max(BAR_LETTERS_MIN, width - texts - 4)
    most = max((number for _, number, _ in bars), default=0.0)
    for label, number, text in bars:
        table.add_row(cell(label), Text(_bar(number / most * letters if most else 0.0), style="cyan"), cell(text))
    return table


def console(*, err: bool = False) -> Console:
    """Where things are drawn: as wide as the terminal, and elsewhere as wide as it takes."""
    stream = sys.stderr if err else sys.stdout
    return Console(width=None if stream.isatty() else WIDTH_PIPED, highlight=False, stderr=err)


def cell(value: Any) -> Text:
    """Text without markup and without control characters: names and errors come from others."""
    if value is None:
        return Text("-", style="dim")
    text = value if isinstance(value, str) else encode(value).decode()
    return styled(text, _STATE_STYLES.get(text, ""))


def styled(text: str, style: str) -> Text:
    return Text(CONTROL.sub("�", text), style=style)


def line_of(parts: Iterable[str]) -> Text:
    """Parts of a line, each as in a table."""
    return Text("  ").join(cell(part) for part in parts)


def _time(value: str | None, now_ms: int) -> Text:
    return cell(None if value is None else short_time(value, now_ms=now_ms))


def _least(name: str, *, wraps: bool) -> int:
    return max(cell_len(name), WRAPPED_LETTERS_MIN if wraps else CELL_LETTERS_MIN)


def _leaving(columns: Sequence[str], *, spare: Sequence[str], uncut: Sequence[str], wraps: str | None) -> list[int]:
    """The places of columns in the order in which they go."""
    named = [columns.index(name) for name in spare]
    rest = [place for place, name in enumerate(columns) if name not in (*spare, *uncut, wraps)]
    return [*named, *reversed(rest), *([] if wraps is None else [columns.index(wraps)])]


def _needed(widths: Iterable[int]) -> int:
    letters = [*widths]
    return sum(letters) + GAP * (len(letters) - 1)


def _wrapped(text: Text, width: int) -> Text:
    """All of it, in as many lines as it takes up to a few."""
    lines = text.wrap(Console(width=width), width)
    if len(lines) <= WRAPPED_LINES_MAX:
        return text
    kept = lines[:WRAPPED_LINES_MAX]
    kept[-1].truncate(width - 1)
    kept[-1].append("…")
    return Text("\n").join(kept)


def _bar(letters: float) -> str:
    """A bar of so many letters, to the eighth; one that is not empty shows."""
    whole, part = divmod(round(letters * 8), 8)
    if letters and not whole and not part:
        part = 1
    return "█" * whole + (_EIGHTHS[part - 1] if part else "")
