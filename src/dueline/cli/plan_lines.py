"""A plan of `dueline apply` in lines for people: what is to be done, in which fields, and when it fires then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UNSET

from dueline.declared.carrying import End, Outcome
from dueline.declared.plans import Action, Json, Plan, Step
from dueline.wire.reading import encode

Line = tuple[str, str]
"""A style, and a text."""

VALUE_LETTERS_MAX = 200
_SIGNS = {Action.CREATE: ("green", "+"), Action.UPDATE: ("yellow", "~"), Action.DELETE: ("red", "-")}
_DONE = {Action.CREATE: "created", Action.UPDATE: "updated", Action.DELETE: "deleted"}


def plan_lines(plan: Plan) -> Iterator[Line]:
    """The steps that change something, and how many there are of each kind."""
    for step in plan.steps:
        if step.action is not Action.UNCHANGED:
            yield from _step_lines(step)
    yield "bold", f"{summary(plan)}."


def summary(plan: Plan) -> str:
    counts = [f"{len(plan.of(action))} to {action}" for action in (Action.CREATE, Action.UPDATE, Action.DELETE)]
    return ", ".join([*counts, f"{len(plan.of(Action.UNCHANGED))} unchanged"])


def outcome_lines(plan: Plan, outcomes: Sequence[Outcome]) -> Iterator[Line]:
    """What was not done and why, and how much was."""
    for outcome in outcomes:
        if outcome.end is not End.DONE:
            yield "red", f"{outcome.step.name}: not {_DONE[outcome.step.action]}: {outcome.reason}"
    done = [outcome.step.action for outcome in outcomes if outcome.end is End.DONE]
    told = ", ".join(f"{done.count(action)} {word}" for action, word in _DONE.items())
    left = plan.changes - len(done)
    yield "bold", f"{told}." if not left else f"{told}; {left} not done."


def _step_lines(step: Step) -> Iterator[Line]:
    style, sign = _SIGNS[step.action]
    place = "" if step.file is None else f"  ({step.file}:{step.line})"
    yield style, f"{sign} {step.action} {step.name}{place}"
    if step.action is Action.CREATE and step.next_due_at is not None:
        yield "dim", f"    fires next at {step.next_due_at}"
    if step.adopted_from is not None:
        yield "yellow", f"    adopted from {step.adopted_from or 'nobody'}"
    for one in step.differences:
        yield "", f"    {one.field}: {_value(one.old)} -> {_value(one.new)}"
    if step.fires is not None:
        yield "dim", f"    fires before: {_fires(step.fires.before)}"
        yield "dim", f"    fires after:  {_fires(step.fires.after)}"


def _fires(fires: Sequence[Json]) -> str:
    return ", ".join(str(fire["local"]) for fire in fires) or "never"


def _value(value: Any) -> str:
    if value is UNSET:
        return "-"
    text = encode(value).decode()
    return text if len(text) <= VALUE_LETTERS_MAX else f"{text[:VALUE_LETTERS_MAX]}…"
