"""Asking a server what it has, and what it would make of what files declare. Nothing is written here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

import msgspec

from dueline.declared.documents import Declared, Fault
from dueline.declared.owners import owner_of, owner_tag
from dueline.declared.plans import Fires, Found, Json, Plan
from dueline.domain import limits
from dueline.sdk.client import PlainClient
from dueline.sdk.errors import Conflict, NotFound, Refused
from dueline.wire.reading import WHOLE, encode

FIRES_SHOWN = 3
JOBS_PER_CALL = 500
BYTES_PER_CALL = limits.BODY_BYTES_MAX // 2

T = TypeVar("T")


class Answer(NamedTuple):
    """What the server has and would make of it, the jobs of the owners, and what it would refuse."""

    found: Found
    owned: list[Json]
    faults: list[Fault]


def ask(client: PlainClient, declared: Sequence[Declared], owners: Iterable[str], *, adopt: bool) -> Answer:
    """Have the server check every job, and find what it has of the same name. A job of another owner, or of nobody, is not to be touched
    unless it is to be adopted."""
    owned = {job["id"]: job for owner in owners for job in client.jobs.list(tag=owner_tag(owner), page_size=500)}
    known = {job["name"]: job for job in owned.values()}
    asking = _Asking(client, adopt=adopt)
    unknown = [one for one in declared if one.name not in known]
    for some in in_calls(unknown, lambda one: one.job):
        answer = create_many(client, [one.job for one in some], dry_run=True)
        for one, item in zip(some, answer["items"], strict=True):
            asking.hear_of_new(one, item)
    for one in declared:
        if one.name in known:
            asking.compare(one, known[one.name])
    places = {one.name: place for place, one in enumerate(declared)}
    return Answer(asking.found, list(owned.values()), sorted(asking.faults, key=lambda fault: places[fault.job]))


def create_many(client: PlainClient, jobs: Sequence[Json], *, dry_run: bool = False) -> Json:
    """Each as its file has it, to the letter."""
    query = {"dry_run": "true"} if dry_run else {}
    answer: Json = client.request("POST", "/v1/jobs/bulk", {"jobs": jobs}, query=query)
    return answer


def with_fires(client: PlainClient, plan: Plan, found: Found) -> Plan:
    """The plan with the next fires, before and after, of every schedule that changes."""
    steps = []
    for step in plan.steps:
        if step.moves_schedule:
            before, after = (side[step.name]["schedule"] for side in (found.current, found.becoming))
            fires = Fires(_fires(client, step.id, before), _fires(client, step.id, after))
            step = msgspec.structs.replace(step, fires=fires)
        steps.append(step)
    return msgspec.structs.replace(plan, steps=steps)


def in_calls(items: Sequence[T], body: Callable[[T], Json]) -> Iterator[list[T]]:
    """Items in pieces, each small enough for one call. `body` gives what is sent of one."""
    some: list[T] = []
    size = 0
    for item in items:
        more = len(encode(body(item)))
        if some and (len(some) == JOBS_PER_CALL or size + more > BYTES_PER_CALL):
            yield some
            some, size = [], 0
        some.append(item)
        size += more
    if some:
        yield some


class _Asking:
    """What was heard so far."""

    def __init__(self, client: PlainClient, *, adopt: bool) -> None:
        self._client = client
        self._adopt = adopt
        self.faults: list[Fault] = []
        self._current: dict[str, Json] = {}
        self._becoming: dict[str, Json] = {}
        self._sent: dict[str, Json] = {}

    @property
    def found(self) -> Found:
        return Found(current=self._current, becoming=self._becoming, sent=self._sent)

    def hear_of_new(self, one: Declared, item: Mapping[str, Any]) -> None:
        """Take in what the server would make of a job that none of the owners has."""
        if "job" in item:
            self._becoming[one.name], self._sent[one.name] = item["job"], one.job
            return
        # What no new job may have, one that is there may keep: an instant that is past by now.
        current = self._named(one.name)
        if current is not None:
            self.compare(one, current)
        elif item["status"] == HTTPStatus.CONFLICT:
            self._missed(one)
        else:
            self._refuse(one, item["problem"].get("errors", ()), item["problem"].get("detail", ""))

    def compare(self, one: Declared, current: Json) -> None:
        """Ask what would become of a job that is there."""
        if owner_of(current) != one.owner and not self._adopt:
            owner = owner_of(current)
            whose = "belongs to nobody" if owner is None else f"belongs to {owner}"
            reason = f"{current['id']} has this name and {whose}: --adopt takes it over, another name leaves it alone"
            self.faults.append(one.fault("name", reason, is_conflict=True))
            return
        try:
            self._sent[one.name], self._becoming[one.name] = self._would_be(one.job, current)
        except Refused as error:
            errors = [{"field": problem.field, "reason": problem.reason} for problem in error.errors]
            self._refuse(one, errors, str(error))
        except (Conflict, NotFound):
            self._missed(one)
        else:
            self._current[one.name] = current

    def _named(self, name: str) -> Json | None:
        """The job that has a name. Of all that begin so it comes first."""
        items = self._client.jobs.list(name_prefix=name, page_size=1).page()["items"]
        return items[0] if items and items[0]["name"] == name else None

    def _missed(self, one: Declared) -> None:
        reason = "somebody changed the job of this name while the plan was made: run it again"
        self.faults.append(one.fault("name", reason, is_conflict=True))

    def _would_be(self, job: Json, current: Json) -> tuple[Json, Json]:
        """What to send, and the job as it would be. Single occurrences that people left out or moved stay so while the schedule does."""
        kept = _with_changed(job, current["schedule"])
        if kept is not None:
            try:
                becoming = self._ask(kept, current)
            except Refused:
                pass
            else:
                if _without_changed(becoming["schedule"]) == _without_changed(current["schedule"]):
                    return kept, becoming
        return job, self._ask(job, current)

    def _ask(self, job: Json, current: Json) -> Json:
        becoming: Json = self._client.jobs.update(current["id"], job, if_version=current["version"], dry_run=True)
        return becoming

    def _refuse(self, one: Declared, errors: Iterable[Mapping[str, str]], detail: str) -> None:
        found = [one.fault(error["field"], error["reason"]) for error in errors]
        self.faults += found or [one.fault(WHOLE, detail)]


def _with_changed(job: Json, current: Json | None) -> Json | None:
    """The job with the single changes that people made to its schedule; None where there are none to keep."""
    schedule = job.get("schedule")
    if schedule is None or current is None or not current.get("changed"):
        return None
    form = {"text": schedule} if isinstance(schedule, str) else schedule
    if not isinstance(form, dict) or "changed" in form:
        return None
    return {**job, "schedule": {**form, "changed": current["changed"]}}


def _without_changed(schedule: Json | None) -> Json:
    return {name: value for name, value in (schedule or {}).items() if name != "changed"}


def _fires(client: PlainClient, job_id: str | None, schedule: Json | None) -> list[Json]:
    if schedule is None:
        return []
    try:
        asked = {"schedule": schedule, "count": FIRES_SHOWN, "job_id": job_id}
        fires: list[Json] = client.request("POST", "/v1/schedules/preview", asked)["fires"]
    except Refused:
        # Of what is over nothing comes, and a preview of it is refused.
        return []
    return fires
