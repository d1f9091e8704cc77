"""Carrying out a plan. A job that somebody changed since the plan was made stays as it is."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple

from dueline.declared.asking import create_many, in_calls
from dueline.declared.plans import Action, Plan, Step
from dueline.sdk.client import PlainClient
from dueline.sdk.errors import ApiError, Conflict, NotFound, OverQuota, Unavailable


class End(StrEnum):
    DONE = "done"
    CONFLICT = "conflict"
    """The server has something that the plan did not see."""
    FAILED = "failed"


class Outcome(NamedTuple):
    step: Step
    end: End
    reason: str = ""


def carry_out(client: PlainClient, plan: Plan) -> Iterator[Outcome]:
    """Do what a plan says, and tell of each step: updates, then new jobs, then deletions, so that a job that got another name is there
    before it goes. What fails leaves the rest; only a server that is not there ends it, with what it raises."""
    for step in plan.of(Action.UPDATE):
        yield _update(client, plan, step)
    for some in in_calls(plan.of(Action.CREATE), lambda step: plan.sent[step.name]):
        yield from _create(client, plan, some)
    for step in plan.of(Action.DELETE):
        yield _delete(client, step)


def _update(client: PlainClient, plan: Plan, step: Step) -> Outcome:
    assert step.id is not None, "a job that is there has an id"
    try:
        client.jobs.update(step.id, plan.sent[step.name], if_version=step.version)
    except ApiError as error:
        return _refused(step, error)
    return Outcome(step, End.DONE)


def _create(client: PlainClient, plan: Plan, steps: list[Step]) -> Iterator[Outcome]:
    try:
        items = create_many(client, [plan.sent[step.name] for step in steps])["items"]
    except ApiError as error:
        yield from [_refused(step, error) for step in steps]
        return
    for step, item in zip(steps, items, strict=True):
        if "job" in item:
            yield Outcome(step, End.DONE)
        else:
            problem = item["problem"]
            told = "; ".join(f"{error['field']}: {error['reason']}" for error in problem.get("errors", ()))
            end = End.CONFLICT if item["status"] == HTTPStatus.CONFLICT else End.FAILED
            yield Outcome(step, end, told or problem.get("detail", ""))


def _delete(client: PlainClient, step: Step) -> Outcome:
    assert step.id is not None, "a job that is there has an id"
    try:
        client.jobs.delete(step.id, if_version=step.version)
    except NotFound:
        # Somebody else did it.
        return Outcome(step, End.DONE)
    except ApiError as error:
        return _refused(step, error)
    return Outcome(step, End.DONE)


def _refused(step: Step, error: ApiError) -> Outcome:
    if isinstance(error, Unavailable):
        raise error
    end = End.CONFLICT if isinstance(error, Conflict | NotFound | OverQuota) else End.FAILED
    told = "; ".join(f"{problem.field}: {problem.reason}" for problem in error.errors)
    return Outcome(step, end, told or str(error))
