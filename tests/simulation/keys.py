"""Dedupe keys: one live run for each, whoever was refused had somebody in the way, and what was replaced never ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dueline.domain.ids import RunId, run_text
from dueline.domain.run import Run
from dueline.domain.states import EndReason, RunState
from dueline.domain.uniqueness import UniqueVerdict
from tests.simulation.evidence import Evidence
from tests.simulation.journal import KeyEvent
from tests.simulation.target import Hit

_SET_BACK_MS = 1_000
"""How far the store's clock may have been set back between two moments of it."""


def keys_kept(evidence: Evidence, runs: dict[RunId, Run], hits: Mapping[RunId, Sequence[Hit]]) -> Iterator[str]:
    for (_, key), events in evidence.journal.keys.items():
        holder: KeyEvent | None = None
        for event in events:
            if holder is not None and event.asked.run.id != holder.asked.run.id:
                yield from _judge(evidence, runs, hits, key, holder, event)
            elif holder is None and not event.answer.written:
                yield f"I9: {key} was refused to {run_text(event.asked.run.id)}, and nobody had it"
            if event.answer.written:
                holder = event


def _judge(
    evidence: Evidence,
    runs: dict[RunId, Run],
    hits: Mapping[RunId, Sequence[Hit]],
    key: str,
    holder: KeyEvent,
    event: KeyEvent,
) -> Iterator[str]:
    """Of two that asked for a key one after the other, where the first had got it."""
    before = runs.get(holder.asked.run.id)
    if before is None:
        return  # Somebody else tells that it is not there.
    name, asked = run_text(before.id), run_text(event.asked.run.id)
    ended_ms = evidence.ended_ms(before)
    match event.answer.verdict:
        case UniqueVerdict.WRITTEN:
            if ended_ms > event.at_ms + _SET_BACK_MS and _is_young(holder, event, -_SET_BACK_MS):
                yield f"I9: {asked} was written with {key}, which {name} had until {ended_ms}"
        case UniqueVerdict.REPLACED:
            if hits.get(before.id) or (before.state, before.reason) != (RunState.CANCELLED, EndReason.SUPERSEDED):
                yield f"I9: {name} was replaced at {key} by {asked}, and is {before.state} ({before.reason})"
        case _:
            if event.answer.run_id != before.id:
                yield f"I9: {asked} was told that another than {name} has {key}"
            kept = event.asked.dedupe is not None and event.asked.dedupe.window_ms is not None
            if ended_ms < event.at_ms - _SET_BACK_MS and not (kept and _is_young(holder, event, _SET_BACK_MS)):
                yield f"I9: {key} was refused to {asked}, though {name} had ended at {ended_ms}"


def _is_young(holder: KeyEvent, event: KeyEvent, spare_ms: int) -> bool:
    """Whether the one that has the key was written within the window of the one that asks."""
    window_ms = None if event.asked.dedupe is None else event.asked.dedupe.window_ms
    return window_ms is None or event.at_ms < holder.at_ms + window_ms + spare_ms
