"""How tests ask what an English schedule means."""

from dueline.domain.english.phrases import Phrase, read_english
from dueline.domain.instants import parse_instant

FIELD = "schedule"
ZONE = "Europe/Berlin"
NOW_MS = parse_instant("2026-11-18T10:20:30Z", field=FIELD)
"""A Wednesday, 11:20:30 in Berlin."""


def understood(text: str) -> Phrase:
    return read_english(text, timezone=ZONE, now_ms=NOW_MS, field=FIELD)
