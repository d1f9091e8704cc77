"""The guide to schedules is true: every phrase, string, form and night in it is what the program makes of it."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from dueline.domain.cron import check_cron, next_second_after
from dueline.domain.describing.sentences import describe
from dueline.domain.durations import format_duration
from dueline.domain.english.phrases import Phrase, read_english
from dueline.domain.errors import InvalidSchedule
from dueline.domain.instants import parse_instant
from dueline.domain.languages import recognise
from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.notes import note_of
from dueline.domain.schedule import After, At, Cron, Every, Repeat, Schedule
from dueline.domain.structured import structured_to_cron

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "schedules.md").read_text()
ZONE = "Europe/Berlin"
NOW_MS = parse_instant("2026-11-18T11:20:00+01:00", field="")
assert "Wednesday 18 November 2026, 11:20 in Berlin" in GUIDE


def table(heading: str) -> list[list[str]]:
    """The cells of the rows below a heading, up to the next one."""
    _, found, rest = GUIDE.partition(f"\n## {heading}\n")
    assert found, heading
    section = rest.partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
    assert rows
    return rows


def code(cell: str) -> str:
    """The text of a cell that is all code."""
    assert cell.startswith("`")
    assert cell.endswith("`")
    return cell[1:-1]


def schedule_of(phrase: Phrase) -> Schedule:
    zone = phrase.timezone or ZONE
    if phrase.cron is not None:
        cron = check_cron(phrase.cron, zone, now_ms=NOW_MS)
        return Cron(cron.expression, timezone=zone, start_ms=phrase.start_ms, end_ms=phrase.end_ms)
    if phrase.every_ms is not None:
        start_ms = NOW_MS if phrase.start_ms is None else phrase.start_ms
        return Every(phrase.every_ms, start_ms, timezone=zone)
    if phrase.after_ms is not None:
        return After(phrase.after_ms, NOW_MS, timezone=zone)
    if phrase.at_ms is not None:
        return At(phrase.at_ms, timezone=zone)
    match = re.fullmatch(r"R/(.*)/P(\d+)D", phrase.repeat or "")
    assert match
    return Repeat(parse_instant(match[1], field=""), days=int(match[2]), timezone=zone)


def kind_of(phrase: Phrase) -> str:
    if phrase.cron is not None:
        return f"cron `{phrase.cron}`"
    if phrase.every_ms is not None:
        return f"every `{format_duration(phrase.every_ms)}`"
    if phrase.after_ms is not None:
        return f"after `{format_duration(phrase.after_ms)}`"
    if phrase.repeat is not None:
        return f"repeat `{phrase.repeat.replace('.000', '')}`"
    assert phrase.at_ms is not None
    local = datetime.fromtimestamp(phrase.at_ms / 1000, ZoneInfo(phrase.timezone or ZONE))
    return f"at `{local.isoformat()}`"


def understood(text: str) -> Phrase:
    return read_english(text, timezone=ZONE, now_ms=NOW_MS, field="schedule")


@pytest.mark.parametrize(("phrase", "kind", "sentence"), table("English"))
def test_a_phrase_is_understood_as_it_says(phrase: str, kind: str, sentence: str) -> None:
    found = understood(code(phrase))
    assert (kind_of(found), describe(schedule_of(found))) == (kind, sentence)


@pytest.mark.parametrize(("phrase", "reason"), table("What is refused"))
def test_a_phrase_is_refused_as_it_says(phrase: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        understood(code(phrase))
    assert reason in raised.value.problems[0][1]


@pytest.mark.parametrize(("text", "language"), [row[:2] for row in table("One string, six languages")])
def test_a_language_is_told_as_it_says(text: str, language: str) -> None:
    assert recognise(code(text)) == language


@pytest.mark.parametrize(("form", "cron"), table("Named fields"))
def test_a_form_becomes_what_it_says(form: str, cron: str) -> None:
    assert structured_to_cron(json.loads(code(form)), field="schedule.calendar") == code(cron)


def nights() -> Iterator[tuple[str, DstGap, DstOverlap, str]]:
    for policy, spring, autumn in table("When the clocks change"):
        gap, overlap = (part.strip("`") for part in policy.split(", "))
        yield spring, DstGap(gap), DstOverlap(overlap), "2026-03-28T12:00:00+01:00"
        yield autumn, DstGap(gap), DstOverlap(overlap), "2026-10-24T12:00:00+02:00"


@pytest.mark.parametrize(("told", "gap", "overlap", "since"), list(nights()))
def test_a_night_is_as_it_says(told: str, gap: DstGap, overlap: DstOverlap, since: str) -> None:
    """`told` holds the fires of the night on which the clocks change."""
    schedule = Cron("30 2 * * *", timezone=ZONE, dst_gap=gap, dst_overlap=overlap)
    at_s = parse_instant(since, field="") // 1000
    fires = []
    while True:
        found_ms = next_second_after(schedule.concrete, ZONE, gap, overlap, at_s)
        assert found_ms is not None
        at_s = found_ms // 1000
        local = datetime.fromtimestamp(at_s, ZoneInfo(ZONE))
        if local.day not in (29, 25):
            break
        assert note_of(schedule, found_ms) is not None
        fires.append(f"{local:%H:%M}{local.isoformat()[-6:]}")
    assert told == (" and ".join(fires) or "nothing")
