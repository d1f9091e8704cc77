"""Many jobs or runs in one call: what people send, and what became of each."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UnsetType

from dueline.domain import limits
from dueline.wire.jobs import JobView, NewJobInput
from dueline.wire.problems import Problem, Problems
from dueline.wire.reading import WHOLE, Unreadable, decode, decoder_of, read_body, read_value
from dueline.wire.runs import AdhocInput

T = TypeVar("T", bound=msgspec.Struct)


class BulkJobsInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Many jobs. One that cannot be created leaves the others, unless `atomic`: then all are created or none."""

    jobs: list[NewJobInput] | UnsetType
    atomic: bool = False


class BulkRunsInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Many runs. One that cannot be written leaves the others, unless `atomic`: then all are written or none."""

    runs: list[AdhocInput] | UnsetType
    atomic: bool = False


class RunRef(msgspec.Struct, frozen=True, gc=False):
    id: str


class JobItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """201 with the job, or the status and the problem with which the item alone would have been answered."""

    status: int
    job: JobView | None = None
    problem: Problem | None = None


class RunItem(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """201 with the run, 200 with another that stands for it, or the status and the problem with which the item alone would have been
    answered."""

    status: int
    run: RunRef | None = None
    problem: Problem | None = None


class BulkJobsView(msgspec.Struct, frozen=True):
    """What became of each job, in the order of the call."""

    items: list[JobItem]
    created: int
    failed: int


class BulkRunsView(msgspec.Struct, frozen=True):
    """What became of each run, in the order of the call."""

    items: list[RunItem]
    created: int
    failed: int


class Items(NamedTuple):
    """The items of a call as they were sent, so that each is read by itself."""

    raw: list[msgspec.Raw]
    atomic: bool


_members = decoder_of(dict[str, msgspec.Raw])
_list = decoder_of(list[msgspec.Raw])


def read_items(body: bytes, kind: type[BulkJobsInput | BulkRunsInput], noun: str, *, most: int) -> Items:
    """The items of a call, or Invalid when something besides them is wrong."""
    problems = Problems()
    try:
        members = _members.decode(body)
        raw = _list.decode(members.pop(noun))
    except (msgspec.MsgspecError, KeyError, UnicodeDecodeError, RecursionError):
        read_body(body, kind, problems)
        problems.raise_any()
        raise
    rest = {name: decode(bytes(member)) for name, member in members.items()}
    asked = read_value({**rest, noun: []}, kind, problems)
    if not 1 <= len(raw) <= most:
        problems.add(noun, f"must be 1 to {most} {noun}, and are {len(raw)}")
    problems.raise_any()
    return Items(raw, asked.atomic)


def read_item(raw: msgspec.Raw, kind: type[T], problems: Problems) -> T:
    """An item. What does not fit is told to `problems`, as if the item were all that was sent."""
    try:
        return read_body(raw, kind, problems)
    except Unreadable as error:
        problems.add(WHOLE, str(error))
        return read_value({}, kind, Problems())


def item_problems() -> Problems:
    return Problems(most=limits.PROBLEMS_PER_ITEM_MAX)
