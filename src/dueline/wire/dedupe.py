"""Dedupe keys: what people ask for, and what it means."""

from __future__ import annotations

from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.states import RunState
from dueline.domain.uniqueness import Dedupe, OnConflict, make_dedupe, states_in_the_way
from dueline.wire.labels import check_key, read_duration
from dueline.wire.problems import Problems

_NO_KEY = "means nothing without a dedupe_key"


class DedupeInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """The part of a run, or of a job, that says what it must not be beside. Without a key nothing is in its way."""

    dedupe_key: str | None = None
    dedupe_window: str | None = None
    dedupe_states: list[RunState] | None = None
    on_conflict: OnConflict | None = None


def to_dedupe(asked: DedupeInput, problems: Problems) -> Dedupe | None:
    """The key that was asked for, if one was. What is wrong is told to `problems`."""
    if asked.dedupe_key is None:
        if asked.dedupe_window is not None:
            problems.add("dedupe_window", _NO_KEY)
        if asked.dedupe_states is not None:
            problems.add("dedupe_states", _NO_KEY)
        if asked.on_conflict is not None:
            problems.add("on_conflict", _NO_KEY)
        return None
    check_key(asked.dedupe_key, problems, field="dedupe_key")
    window_ms = None
    if asked.dedupe_window is not None:
        window_ms = read_duration(
            asked.dedupe_window, "dedupe_window", problems, least_ms=1, most_ms=limits.DEDUPE_WINDOW_MS_MAX
        )
    with problems.gathering():
        return make_dedupe(
            asked.dedupe_key, window_ms=window_ms, states=asked.dedupe_states, on_conflict=asked.on_conflict
        )
    return None


def dedupe_fields(dedupe: Dedupe | None) -> dict[str, Any]:
    """What `to_dedupe` reads as this. States that are those of every other key are not told."""
    if dedupe is None:
        return dict.fromkeys(DedupeInput.__struct_fields__)
    usual = dedupe.states == states_in_the_way(dedupe.window_ms)
    return {
        "dedupe_key": dedupe.key,
        "dedupe_window": None if dedupe.window_ms is None else format_duration(dedupe.window_ms),
        "dedupe_states": None if usual else [state for state in RunState if state in dedupe.states],
        "on_conflict": dedupe.on_conflict,
    }
