"""What is to be done so that a server has what files declare. Pure: what the server said is an argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dueline.declared.documents import Declared
from dueline.declared.owners import owner_of
from dueline.wire.differences import Difference, differences

Json = dict[str, Any]


class Action(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    UNCHANGED = "unchanged"


class Fires(msgspec.Struct, frozen=True):
    """The next fires of a schedule that changes, as a preview tells them."""

    before: list[Json]
    after: list[Json]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done with one job. `version` is the one that the plan saw: at any other the step has no effect."""

    action: Action
    name: str
    id: str | None = None
    version: int | None = None
    owner: str | None = None
    adopted_from: str | None = None
    """Whose it was, where it changes hands; empty: nobody's."""
    file: str | None = None
    line: int | None = None
    next_due_at: str | None = None
    """When it fires next, once this is done."""
    differences: list[Difference] = []
    fires: Fires | None = None

    @property
    def moves_schedule(self) -> bool:
        """Whether it is an update that changes when the job fires."""
        return self.action is Action.UPDATE and any(
            one.field == "schedule" or one.field.startswith("schedule.") for one in self.differences
        )


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All steps: those of declared jobs in the order of the files, then what is pruned."""

    steps: list[Step]
    sent: dict[str, Json] = {}
    """By name, what to write for those that are created or updated."""

    def of(self, action: Action) -> list[Step]:
        return [step for step in self.steps if step.action is action]

    @property
    def changes(self) -> int:
        return sum(step.action is not Action.UNCHANGED for step in self.steps)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a server said: by name, the jobs that are there, and each declared one as it would be."""

    current: Mapping[str, Json]
    becoming: Mapping[str, Json]
    sent: Mapping[str, Json]


def make_plan(
    declared: Sequence[Declared], found: Found, *, prune: Iterable[str] = (), owned: Iterable[Json] = ()
) -> Plan:
    """The plan. Of the `owned` jobs, those of the owners in `prune` are deleted that no file declares, and never any other."""
    steps = [_step(one, found.current.get(one.name), found.becoming[one.name]) for one in declared]
    names, owners = {one.name for one in declared}, set(prune)
    steps += [
        Step(action=Action.DELETE, name=job["name"], id=job["id"], version=job["version"], owner=owner_of(job))
        for job in sorted(owned, key=_name)
        if job["name"] not in names and owner_of(job) in owners
    ]
    written = [step.name for step in steps if step.action in (Action.CREATE, Action.UPDATE)]
    return Plan(steps=steps, sent={name: found.sent[name] for name in written})


def _step(one: Declared, current: Json | None, becoming: Json) -> Step:
    told = Step(
        action=Action.CREATE,
        name=one.name,
        owner=one.owner,
        file=one.file,
        line=one.line,
        next_due_at=becoming["next_due_at"],
    )
    if current is None:
        return told
    differing = differences(current, becoming)
    before = owner_of(current)
    return msgspec.structs.replace(
        told,
        action=Action.UPDATE if differing else Action.UNCHANGED,
        id=current["id"],
        version=current["version"],
        adopted_from=None if before == one.owner else before or "",
        differences=differing,
    )


def _name(job: Json) -> str:
    return str(job["name"])
