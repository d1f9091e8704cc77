"""The small texts and numbers by which jobs and runs are found and ordered: names, queues, regions, tags, priorities, notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.durations import parse_duration
from dueline.domain.instants import parse_instant
from dueline.domain.job import PRIORITIES
from dueline.domain.lanes import RESERVED
from dueline.domain.texts import CONTROL
from dueline.wire.problems import Problems

_CONTROL_IN_PROSE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
RATE_MIN = 0.001
FAR_MS = parse_instant("9000-01-01T00:00:00Z", field="")
"""Where nothing is counted from any more: what comes after it could not be told, since calendars end with the year 9999."""
_QUEUE = re.compile(rf"[A-Za-z0-9._-]{{1,{limits.QUEUE_LETTERS_MAX}}}")


def check_name(name: str, problems: Problems, *, field: str = "name") -> None:
    if not 1 <= len(name) <= limits.NAME_LETTERS_MAX or not name.strip():
        problems.add(field, f"must have 1 to {limits.NAME_LETTERS_MAX} letters")
    elif CONTROL.search(name):
        problems.add(field, "must not hold control characters")


def check_queue(name: str, problems: Problems, *, field: str = "queue") -> None:
    if not _QUEUE.fullmatch(name):
        problems.add(field, f"must be 1 to {limits.QUEUE_LETTERS_MAX} of the letters A-Z a-z 0-9 . _ -")


def check_fairness_key(key: str, problems: Problems) -> None:
    if len(key) > limits.KEY_LETTERS_MAX or CONTROL.search(key):
        problems.add("fairness_key", f"must have at most {limits.KEY_LETTERS_MAX} letters, without control characters")


def check_region(name: str, problems: Problems) -> None:
    """Empty: no region in particular."""
    if name:
        check_queue(name, problems, field="region")


def check_priority(priority: int, problems: Problems) -> None:
    if priority not in PRIORITIES:
        problems.add(
            "priority", f"must be between {PRIORITIES[0]} and {PRIORITIES[-1]}; {PRIORITIES[-1]} is the most urgent"
        )


def check_tags(tags: Sequence[str], problems: Problems) -> None:
    if len(tags) > limits.TAGS_MAX:
        problems.add("tags", f"must be at most {limits.TAGS_MAX}")
        return
    for index, tag in enumerate(tags):
        if reason := tag_problem(tag):
            problems.add(f"tags[{index}]", reason)
        elif tag in tags[:index]:
            problems.add(f"tags[{index}]", f"is given twice: {tag!r}")


def check_names_list(names: Sequence[str], field: str, problems: Problems, *, most: int, noun: str) -> None:
    """Names of things that are kept elsewhere: few, each once, each in the letters of names in paths."""
    if len(names) > most:
        problems.add(field, f"must be at most {most} {noun}")
        return
    for index, name in enumerate(names):
        if name in names[:index]:
            problems.add(f"{field}[{index}]", f"is given twice: {name!r}")
        else:
            check_queue(name, problems, field=f"{field}[{index}]")


def check_labels(labels: Sequence[str], field: str, problems: Problems) -> None:
    """What workers have and runs require."""
    check_names_list(labels, field, problems, most=limits.LABELS_MAX, noun="labels")
    for label in sorted(RESERVED.intersection(labels)):
        problems.add(field, f"{label!r} is a label that Dueline gives itself")


def tag_problem(tag: str) -> str | None:
    if not 1 <= len(tag) <= limits.TAG_LETTERS_MAX:
        return f"must have 1 to {limits.TAG_LETTERS_MAX} letters"
    return "must not hold control characters" if CONTROL.search(tag) else None


def check_note(note: str | None, problems: Problems) -> None:
    if note is not None and len(note) > limits.NOTE_LETTERS_MAX:
        problems.add("note", f"must have at most {limits.NOTE_LETTERS_MAX} letters")
    elif note is not None and _CONTROL_IN_PROSE.search(note):
        problems.add("note", "must not hold control characters other than tabs and line ends")


def check_key(key: str, problems: Problems, *, field: str = "key") -> None:
    if not 1 <= len(key) <= limits.KEY_LETTERS_MAX:
        problems.add(field, f"must have 1 to {limits.KEY_LETTERS_MAX} letters")
    elif CONTROL.search(key):
        problems.add(field, "must not hold control characters")


def check_count(count: int, field: str, problems: Problems, *, least: int, most: int) -> None:
    if not least <= count <= most:
        problems.add(field, f"must be between {least} and {most}")


def check_rate(rate: float, field: str, problems: Problems, *, most: float) -> None:
    """So many a second. Slower than one in a thousand seconds is a mistake."""
    if not RATE_MIN <= rate <= most:
        problems.add(field, f"must be between {RATE_MIN:g} and {most:g} a second")


def read_duration(text: str, field: str, problems: Problems, *, least_ms: int, most_ms: int) -> int:
    """Milliseconds of a duration; the least when it is refused."""
    if len(text) > limits.WHEN_LETTERS_MAX:
        problems.add(field, "is too long for a duration such as PT15M or 15m")
        return least_ms
    with problems.gathering():
        return parse_duration(text, field=field, least_ms=least_ms, most_ms=most_ms)
    return least_ms


def check_near(at_ms: int | None, field: str, problems: Problems) -> bool:
    """Refuse an instant from which others would be counted beyond the end of calendars."""
    if at_ms is None or at_ms < FAR_MS:
        return True
    problems.add(field, "must lie before the year 9000")
    return False


def read_instant(text: str, field: str, problems: Problems) -> int | None:
    """Milliseconds of an RFC 3339 time; None when it is refused."""
    if len(text) > limits.WHEN_LETTERS_MAX:
        problems.add(field, "is too long for an RFC 3339 time such as 2026-03-29T01:30:00Z")
        return None
    with problems.gathering():
        return parse_instant(text, field=field)
    return None
