"""What files declare: jobs, each with its place and its owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

import msgspec

from dueline.declared.owners import DEFAULT_OWNER, is_owner_tag, owner_problem, owner_tag
from dueline.declared.trees import Misread, Node, read_trees
from dueline.domain.english.phrases import read_english
from dueline.domain.errors import Invalid
from dueline.domain.instants import parse_instant
from dueline.domain.languages import Language, recognise
from dueline.wire.reading import WHOLE

_MEMBERS = ("jobs", "owner")
_ONES_OWN = "x-"
"""Members that begin so are for their writer, such as a home for anchors."""
_MOMENTS_MS = tuple(parse_instant(text, field="") for text in ("2026-01-05T00:00:00Z", "2027-03-17T12:34:56Z"))
"""Two moments at which nothing that counts from now means the same."""


class Fault(NamedTuple):
    """What is wrong, where, and with which job."""

    place: str
    job: str
    field: str
    reason: str
    is_conflict: bool = False
    """Whether it is right in itself, and the server has something that is in the way."""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.job, self.field, self.reason) if part)


class File(NamedTuple):
    """A text with the name that people know it by."""

    name: str
    text: str


class Declared(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a file has it; `job` is what is sent, with the tag of its owner. An owner of None: nobody's."""

    file: str
    node: Node
    name: str
    owner: str | None
    job: dict[str, Any]

    @property
    def line(self) -> int:
        return self.node.line

    def fault(self, field: str, reason: str, *, is_conflict: bool = False) -> Fault:
        line = self.line if field == WHOLE else self.node.line_of(field)
        return Fault(f"{self.file}:{line}", self.name, "" if field == WHOLE else field, reason, is_conflict)


class Reading(NamedTuple):
    """All that some files say. The owners are those whose jobs the files are about, whether they name any or not."""

    declared: list[Declared]
    owners: list[str]
    faults: list[Fault]


def read_files(files: Sequence[File], *, owner: str | None = None) -> Reading:
    """The jobs of all files, and everything that is wrong with them. `owner` counts in place of what the files say."""
    reading = Reading([], [], [])
    for file in files:
        try:
            documents = list(_documents(read_trees(file.text, is_json=file.name.endswith(".json"))))
        except Misread as error:
            reading.faults.append(Fault(f"{file.name}:{error.line}", "", "", str(error)))
            continue
        if not documents:
            reason = "holds no jobs; if none is what you want, write jobs: []"
            reading.faults.append(Fault(f"{file.name}:1", "", "", reason))
        for document in documents:
            _read_document(file, document, reading, owner)
    _check_names(reading)
    return reading


def _documents(trees: Sequence[Node]) -> Iterator[Node]:
    """What is not empty; JSON, which knows no documents, may hold a list of them."""
    for tree in trees:
        if isinstance(tree.value, list):
            yield from tree.value
        elif tree.value is not None:
            yield tree


def _read_document(file: File, document: Node, reading: Reading, forced: str | None) -> None:
    if not isinstance(document.value, dict):
        reason = "must be an object with jobs, such as jobs: [{name: …, target: …}]"
        reading.faults.append(Fault(f"{file.name}:{document.line}", "", "", reason))
        return
    members = dict(document.value)
    said = members.pop("owner", None)
    owner = _owner(file, said, reading, forced)
    if owner is not None and owner not in reading.owners:
        reading.owners.append(owner)
    if "jobs" not in members and ("target" in members or "name" in members):
        # A document may be one job by itself.
        _read_job(file, Node(members, document.line), reading, owner)
        return
    jobs = members.pop("jobs", Node(None, document.line))
    if not isinstance(jobs.value, list):
        reading.faults.append(Fault(f"{file.name}:{jobs.line}", "", "jobs", "must be a list of jobs"))
    for name, node in members.items():
        if name.startswith(_ONES_OWN):
            continue
        near = get_close_matches(name, _MEMBERS, n=1)
        reason = f"unknown field: did you mean {near[0]}?" if near else f"unknown field; known: {', '.join(_MEMBERS)}"
        reading.faults.append(Fault(f"{file.name}:{node.line}", "", name, reason))
    for job in jobs.value if isinstance(jobs.value, list) else ():
        _read_job(file, job, reading, owner)


def _owner(file: File, said: Node | None, reading: Reading, forced: str | None) -> str | None:
    if forced is not None:
        return forced
    if said is None:
        return DEFAULT_OWNER
    if said.value is None:
        return None
    reason = owner_problem(said.value) if isinstance(said.value, str) else "must be text, or null for nobody's"
    if reason is None:
        return str(said.value)
    reading.faults.append(Fault(f"{file.name}:{said.line}", "", "owner", reason))
    return None


def _read_job(file: File, node: Node, reading: Reading, owner: str | None) -> None:
    place = f"{file.name}:{node.line}"
    if not isinstance(node.value, dict):
        reading.faults.append(Fault(place, "", "jobs", "must hold objects, a job each"))
        return
    job = node.plain
    name = job.get("name")
    if not isinstance(name, str) or not name:
        line = node.line_of("name")
        reading.faults.append(Fault(f"{file.name}:{line}", "", "name", "is required: jobs are known by their names"))
        return
    tags = job.get("tags", [])
    if isinstance(tags, list):
        # What is no list is refused by the server, in its own words.
        if owner is not None:
            job["tags"] = [*tags, owner_tag(owner)]
    else:
        tags = []
    one = Declared(file=file.name, node=node, name=name, owner=owner, job=job)
    for index, tag in enumerate(tags):
        if is_owner_tag(tag):
            reading.faults.append(one.fault(f"tags[{index}]", f"{tag!r} says whose the job is: say owner beside jobs"))
    reading.faults.extend(one.fault(*fault) for fault in _moving(job.get("schedule")))
    reading.declared.append(one)


def _moving(schedule: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with a text that means another time whenever it is read: a file is read again and again."""
    text = schedule.get("text") if isinstance(schedule, dict) else schedule
    if not isinstance(text, str) or recognise(text) is not Language.ENGLISH:
        return
    try:
        first, second = (read_english(text, timezone="UTC", now_ms=now_ms, field="") for now_ms in _MOMENTS_MS)
    except Invalid:
        # The server says what is wrong with it.
        return
    if (first.at_ms, first.start_ms, first.end_ms) != (second.at_ms, second.start_ms, second.end_ms):
        field = "schedule.text" if isinstance(schedule, dict) else "schedule"
        yield field, f"{text!r} means another time whenever it is read: write out the date, with its year"


def _check_names(reading: Reading) -> None:
    first: dict[str, Declared] = {}
    for one in reading.declared:
        earlier = first.setdefault(one.name, one)
        if earlier is not one:
            reading.faults.append(one.fault("name", f"is declared twice, first at {earlier.file}:{earlier.line}"))
