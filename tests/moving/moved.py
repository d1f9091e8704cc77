"""Files of other schedulers, converted; and how a job and its source compare."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dueline.domain.firetimes import compile_schedule
from dueline.domain.instants import parse_instant
from dueline.moving.entries import Entry, Options, Outcome
from dueline.moving.sources import convert_file

FILES = Path(__file__).parent / "files"
NOW_MS = parse_instant("2026-01-01T00:00:00Z", field="")
DAY_S = 86_400


def converted(source: str, text: str, **options: Any) -> list[Entry]:
    return convert_file(source, text, Options(**{"now_ms": NOW_MS, **options}))


def file(source: str, name: str, **options: Any) -> dict[str, Entry]:
    """The entries of a file of the tests, by their places."""
    return {entry.place: entry for entry in converted(source, (FILES / name).read_text(), **options)}


def only(source: str, text: str, **options: Any) -> Entry:
    (entry,) = converted(source, text, **options)
    return entry


def job(entry: Entry) -> dict[str, Any]:
    """The job of an entry that was converted."""
    assert entry.job is not None, entry.notes
    return entry.job


def reason(entry: Entry) -> str:
    """Why an entry was not converted."""
    assert entry.outcome is not Outcome.CONVERTED
    return entry.notes[0]


def ours(entry: Entry, since_s: int, until_s: int) -> Iterator[int]:
    """When the job of an entry fires."""
    assert entry.schedule is not None
    times = compile_schedule(entry.schedule)
    at_ms = times.next_fire_after(since_s * 1000)
    while at_ms is not None and at_ms // 1000 <= until_s:
        yield at_ms // 1000
        at_ms = times.next_fire_after(at_ms)


def theirs(entry: Entry, since_s: int, until_s: int) -> Iterator[int]:
    """When its source would."""
    assert entry.oracle is not None
    return entry.oracle.fires(since_s, until_s)


def differ(entry: Entry, since: str, days: int) -> list[int]:
    """The instants at which only one of the two fires."""
    since_s = parse_instant(since, field="") // 1000
    until_s = since_s + days * DAY_S
    return sorted(set(ours(entry, since_s, until_s)) ^ set(theirs(entry, since_s, until_s)))
