"""What people ask for: create, change, pause, resume, cancel and delete jobs; run them now; enqueue runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from dueline.domain import changes, endings, limits
from dueline.domain.asked_runs import AdhocRun, adhoc_runs, manual_run
from dueline.domain.errors import Conflict, DuelineError, Invalid, InvalidSchedule, NamesTaken, NotFound, OverQuota
from dueline.domain.ids import JobId, RunId, job_text, new_job_id, new_run_id, new_run_ids, run_text
from dueline.domain.job import Definition, Job
from dueline.domain.planning import Position
from dueline.domain.quotas import Quotas
from dueline.domain.run import NewRun
from dueline.domain.single_changes import OccurrenceChange, change_occurrence
from dueline.domain.states import EndReason, JobState
from dueline.domain.uniqueness import Dedupe, UniqueAnswer, UniqueRun, UniqueVerdict
from dueline.engine.calendars import check_calendars, load_calendars, named_calendars
from dueline.engine.gathering import Gathering
from dueline.engine.naming import job_named
from dueline.engine.quotas import QuotaKeeper
from dueline.runtime.chance import Chance
from dueline.runtime.clock import StoreTime
from dueline.runtime.turns import Turns
from dueline.store.protocol import Store
from dueline.store.records import created_job
from dueline.store.requests import IN_HAND
from dueline.store.shapes import CancelAnswer, NewJob

_EDITS_TRIED = 3


class _CalendarsNeeded(Exception):
    """A decision cannot be made before these calendars are read."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition


class _OnlyAsked(DuelineError):
    """A change was decided, and is not to be written."""

    def __init__(self, job: Job) -> None:
        self.job = job


class BegunPaused(NamedTuple):
    """What a job is to be that begins paused."""

    definition: Definition


Define = Callable[[JobId, int], Definition | BegunPaused]


class CreatedJobs(NamedTuple):
    """What became of each wish, by its place among them."""

    jobs: dict[int, Job]
    refused: dict[int, Invalid | Conflict]


class Operations:
    """Everything that changes something, for one tenant a call. All surfaces go through here, and so nobody gets past the quotas: what is
    more than the tenant may have or do raises OverQuota, or Invalid where waiting would not help."""

    def __init__(self, store: Store, time: Callable[[], StoreTime], chance: Chance, quotas: QuotaKeeper) -> None:
        self._store = store
        self._time = time
        self._chance = chance
        self._quotas = quotas
        self._gathered: Gathering[NewJob, Job | None] = Gathering(store.create_jobs)

    def now_ms(self) -> int:
        """The store's time, for reading instants that are relative to now."""
        return self._time().now_ms()

    async def quotas_of(self, tenant: str) -> Quotas:
        """For whoever asks for many runs, and wants to know which of them would be refused."""
        return await self._quotas.of(tenant)

    async def create_job(self, tenant: str, define: Define, *, dry_run: bool = False) -> Job:
        """Create a job. `define` gets the id and the time, and raises Invalid for what can never work."""
        created = await self.create_jobs(tenant, [define], dry_run=dry_run)
        for refusal in created.refused.values():
            raise refusal
        return created.jobs[0]

    async def create_jobs(
        self, tenant: str, define: Sequence[Define], *, atomic: bool = False, dry_run: bool = False
    ) -> CreatedJobs:
        """Create many jobs: one that is refused leaves the others. With `atomic` none is created unless all are, and none is in any case
        where they are more than the tenant may have. With `dry_run` nothing is written: the answer is what it would be now."""
        now_ms, turns, quotas = self.now_ms(), Turns(), await self._quotas.of(tenant)
        drafts: dict[int, tuple[JobId, Definition]] = {}
        paused: set[int] = set()
        refused: dict[int, Invalid | Conflict] = {}
        for index, define_one in enumerate(define):
            job_id = new_job_id(now_ms, self._chance.entropy())
            try:
                definition = define_one(job_id, now_ms)
                if isinstance(definition, BegunPaused):
                    definition = definition.definition
                    paused.add(index)
                quotas.check_payload(definition.execution.target)
                drafts[index] = job_id, definition
            except Invalid as refusal:
                refused[index] = refusal
                if atomic and len(refused) == limits.PROBLEMS_MAX:
                    break
            await turns.give()
        if atomic and refused:
            return CreatedJobs({}, refused)
        calendars = await load_calendars(self._store, tenant, [definition for _, definition in drafts.values()])
        new: dict[int, NewJob] = {}
        for index, (job_id, definition) in drafts.items():
            try:
                position = _first_position(definition, calendars, now_ms=now_ms)
            except Invalid as refusal:
                refused[index] = refusal
            else:
                new[index] = _new_job(job_id, tenant, definition, position, paused=index in paused)
            await turns.give()
        if atomic and refused:
            return CreatedJobs({}, refused)
        if dry_run:
            return await self._would_write(tenant, new, refused, atomic=atomic, jobs_max=quotas.jobs, now_ms=now_ms)
        return await self._write_jobs(new, refused, atomic=atomic, jobs_max=quotas.jobs)

    async def edit_job(
        self,
        tenant: str,
        job_id: JobId,
        define: Callable[[Job, int], Definition],
        *,
        expected_version: int | None,
        dry_run: bool = False,
    ) -> Job:
        """Change a job's definition. `define` gets the job as it is and the time; it may be asked again. With `dry_run` nothing is
        written: the answer is the job as it would be."""
        calendars: changes.Calendars = {}
        quotas = await self._quotas.of(tenant)
        # Then the request is written down with the change, also where that is none: it must not be carried out later.
        is_noted = IN_HAND.get() is not None

        def decide(hand: changes.JobInHand) -> changes.JobChange:
            changes.check_version(hand.job, expected_version)
            changes.check_open(hand.job.state)
            definition = define(hand.job, hand.now_ms)
            if definition.execution.target != hand.job.definition.execution.target:
                quotas.check_payload(definition.execution.target)
            names = () if definition.schedule is None else definition.schedule.calendars
            if not calendars.keys() >= set(names):
                raise _CalendarsNeeded(definition)
            if definition == hand.job.definition and not is_noted:
                # Nothing changes, so nothing is written: it was not updated.
                raise _OnlyAsked(hand.job)
            change = changes.edit(hand, definition, calendars=calendars)
            if dry_run:
                raise _OnlyAsked(changes.changed_job(hand, change))
            return change

        for _ in range(_EDITS_TRIED):
            try:
                return await self._store.change_job(tenant, job_id, decide)
            except _CalendarsNeeded as needed:
                calendars = await named_calendars(self._store, tenant, needed.definition)
            except _OnlyAsked as asked:
                holder = await job_named(self._store, tenant, asked.job.definition.name)
                if holder is not None and holder.id != job_id:
                    raise _taken(asked.job.definition.name) from None
                return asked.job
        raise Conflict("the job was changed meanwhile: read it again, then decide")

    async def change_occurrence(
        self,
        tenant: str,
        job_id: JobId,
        at_ms: int,
        change: OccurrenceChange,
        *,
        expected_version: int | None = None,
    ) -> Job:
        """Leave out, move, or put back one coming occurrence of a job."""

        def decide(hand: changes.JobInHand) -> changes.JobChange:
            changes.check_version(hand.job, expected_version)
            schedule = change_occurrence(hand, at_ms, change)
            definition = msgspec.structs.replace(hand.job.definition, schedule=schedule)
            return changes.edit(hand, definition, calendars=hand.calendars)

        return await self._store.change_job(tenant, job_id, decide)

    async def pause_job(
        self, tenant: str, job_id: JobId, *, note: str | None, expected_version: int | None = None
    ) -> Job:
        """Pause a job. One that is paused keeps the note that it has, unless there is another."""

        def decide(hand: changes.JobInHand) -> changes.JobChange:
            changes.check_version(hand.job, expected_version)
            return changes.pause(hand, note=note)

        return await self._store.change_job(tenant, job_id, decide)

    async def resume_job(self, tenant: str, job_id: JobId, *, expected_version: int | None = None) -> Job:
        def decide(hand: changes.JobInHand) -> changes.JobChange:
            changes.check_version(hand.job, expected_version)
            return changes.resume(hand)

        return await self._store.change_job(tenant, job_id, decide)

    async def cancel_job(
        self, tenant: str, job_id: JobId, *, note: str | None, stop_running: bool, expected_version: int | None
    ) -> Job:
        """End a job for good. One that was cancelled before is answered as it stands, and nothing is written of it but that its runs are to
        stop, where that is asked for."""

        def decide(hand: changes.JobInHand) -> changes.JobChange:
            changes.check_version(hand.job, expected_version)
            if hand.job.state is JobState.CANCELLED and not stop_running:
                raise _OnlyAsked(hand.job)
            return endings.cancel(hand, note=note, stop_running=stop_running)

        try:
            return await self._store.change_job(tenant, job_id, decide)
        except _OnlyAsked as asked:
            return asked.job

    async def delete_job(self, tenant: str, job_id: JobId, *, expected_version: int | None) -> None:
        await self._store.change_job(
            tenant, job_id, lambda hand: endings.delete(hand, expected_version=expected_version)
        )

    async def run_job(self, tenant: str, job_id: JobId, *, force: bool, expected_version: int | None = None) -> RunId:
        """Run a job now, also while it is paused; its schedule does not move. Overlap and the job's dedupe key are respected unless forced:
        the answer may be a run that stands for it, and Conflict where none does."""
        answer = await self.run_job_unique(tenant, job_id, None, force=force, expected_version=expected_version)
        if answer.refused:
            raise Conflict(answer.refusal)
        return answer.run_id

    async def run_job_unique(
        self, tenant: str, job_id: JobId, dedupe: Dedupe | None, *, force: bool, expected_version: int | None = None
    ) -> UniqueAnswer:
        """The same, unless another run has the key and is in the way: the one that is asked for, or else the job's own unless forced."""
        job = await self._job_to_run(tenant, job_id, expected_version)
        now_ms = self.now_ms()
        run = manual_run(job, new_run_id(now_ms, self._chance.entropy()), now_ms=now_ms, force=force)
        if dedupe is None and not force:
            dedupe = job.definition.dedupe
        if dedupe is None:
            await self._store.enqueue([run], open_job=job.id)
            return UniqueAnswer(run.id, UniqueVerdict.WRITTEN)
        (answer,) = await self._store.enqueue_unique([UniqueRun(run, dedupe)], atomic=True, open_job=job.id)
        return answer

    async def _job_to_run(self, tenant: str, job_id: JobId, expected_version: int | None) -> Job:
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        # The run is of the version that is looked at here, however the job is changed before it is written. Whether it ends before that
        # is asked again where it is written.
        changes.check_version(job, expected_version)
        changes.check_open(job.state)
        await self._quotas.take_runs(tenant, 1)
        return job

    async def cancel_run(self, tenant: str, run_id: RunId) -> CancelAnswer:
        """End a run. One that is under way is asked to end; its effect may have happened, and its record says so."""
        answers = await self._store.cancel_runs(tenant, [run_id], reason=EndReason.REQUESTED)
        if run_id not in answers:
            raise NotFound("run", run_text(run_id))
        if answers[run_id] is CancelAnswer.OVER:
            run = await self._store.run(tenant, run_id)
            raise Conflict("the run has ended" if run is None else f"the run is {run.state} already")
        return answers[run_id]

    async def enqueue(self, tenant: str, adhoc: Sequence[AdhocRun]) -> list[RunId]:
        """Write runs straight to the ready queue, all or none."""
        runs = await self._adhoc_runs(tenant, adhoc)
        await self._store.enqueue(runs)
        return [run.id for run in runs]

    async def enqueue_unique(
        self, tenant: str, adhoc: Sequence[AdhocRun], dedupes: Sequence[Dedupe | None], *, atomic: bool = False
    ) -> list[UniqueAnswer]:
        """Write runs, each with the key that it asks for, if it does; answers in their order. With `atomic` none is written where one is
        refused."""
        runs = zip(await self._adhoc_runs(tenant, adhoc), dedupes, strict=True)
        return await self._store.enqueue_unique([UniqueRun(run, dedupe) for run, dedupe in runs], atomic=atomic)

    async def _adhoc_runs(self, tenant: str, adhoc: Sequence[AdhocRun]) -> list[NewRun]:
        quotas = await self._quotas.of(tenant)
        if quotas.payload_bytes is not None:
            for asked in adhoc:
                quotas.check_payload(asked.execution.target)
        await self._quotas.take_runs(tenant, len(adhoc))
        now_ms = self.now_ms()
        dues_ms = [now_ms if asked.due_ms is None else asked.due_ms for asked in adhoc]
        run_ids = new_run_ids(dues_ms, self._chance.entropy(len(adhoc)))
        return adhoc_runs(tenant, adhoc, run_ids, dues_ms)

    async def _write_jobs(
        self, new: dict[int, NewJob], refused: dict[int, Invalid | Conflict], *, atomic: bool, jobs_max: int | None
    ) -> CreatedJobs:
        jobs: dict[int, Job] = {}
        try:
            asked = list(new.values())
            if len(new) == 1 and jobs_max is None and IN_HAND.get() is None:
                written = [await self._gathered.write(asked[0])]
            else:
                written = await self._store.create_jobs(asked, atomic=atomic, jobs_max=jobs_max) if new else []
        except NamesTaken as error:
            taken = [index for index, job in new.items() if job.id in error.job_ids]
        else:
            jobs = {index: job for index, job in zip(new, written, strict=True) if job is not None}
            taken = [index for index in new if index not in jobs]
        return CreatedJobs(jobs, refused | {index: _taken(new[index].definition.name) for index in taken})

    async def _would_write(
        self,
        tenant: str,
        new: dict[int, NewJob],
        refused: dict[int, Invalid | Conflict],
        *,
        atomic: bool,
        jobs_max: int | None,
        now_ms: int,
    ) -> CreatedJobs:
        """What `_write_jobs` would answer, if nobody else wrote anything before it."""
        jobs: dict[int, Job] = {}
        seen: set[str] = set()
        taken: dict[int, Invalid | Conflict] = {}
        for index, job in new.items():
            name = job.definition.name
            if name in seen or await job_named(self._store, tenant, name) is not None:
                taken[index] = _taken(name)
            else:
                jobs[index] = created_job(job, created_ms=now_ms)
            seen.add(name)
        if atomic and taken:
            return CreatedJobs({}, taken)
        if jobs and jobs_max is not None:
            used = (await self._store.tenant_uses([tenant]))[tenant].jobs
            if used + len(jobs) > jobs_max:
                raise OverQuota("jobs", limit=jobs_max, used=used, asked=len(jobs))
        return CreatedJobs(jobs, refused | taken)


def _new_job(job_id: JobId, tenant: str, definition: Definition, position: Position, *, paused: bool) -> NewJob:
    if paused:
        position = msgspec.structs.replace(position, due_ms=None)
    return NewJob(id=job_id, tenant=tenant, definition=definition, position=position, paused=paused)


def _taken(name: str) -> Conflict:
    return Conflict(f"the name {name!r} is taken", ("name", f"{name!r} is taken"))


def _first_position(definition: Definition, calendars: changes.Calendars, *, now_ms: int) -> Position:
    """Where the schedule of a new job stands; Invalid when it would never fire, or names a calendar that is not there."""
    schedule = definition.schedule
    check_calendars(definition, calendars)
    position = changes.first_position(schedule, calendars, now_ms=now_ms)
    if schedule is not None and not changes.ever_fires(schedule, calendars, position):
        raise InvalidSchedule("schedule", "never fires: its calendars and changes leave nothing of it")
    return position
