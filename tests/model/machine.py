"""The whole machine: what processes, people and time do, beside what is done with runs."""

from __future__ import annotations

from collections.abc import Awaitable

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId, JobId, RunId, new_job_id
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Position
from dueline.domain.run import NewRun, first_token
from dueline.domain.schedule import After, Every
from dueline.domain.sharding import shard_of
from dueline.domain.states import EndReason, HeldReason, JobState, RunState
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.shapes import Firing
from tests.model import ends, fleet, gates, jobs, runs
from tests.model.driver import TIMEOUT_MS, Step, move, picked, steps
from tests.model.sides import WORKERS
from tests.model.working import DELAYS_MS, PICKS, QUEUES, RECENT, Working
from tests.model.world import GRACE_MS, Shard
from tests.support.stores import START_MS, a_job, an_occurrence, at

LEASE_S = fleet.LEASE_MS / 1000
PERIOD_MS = 60_000
PROCESSES = st.sampled_from(WORKERS)
NAMES = st.sampled_from(["hourly", "nightly", "weekly"])


class Living(Working):
    @initialize(
        kinds=st.lists(st.tuples(NAMES, st.booleans(), st.booleans()), min_size=1, max_size=2), fires=st.booleans()
    )
    def begin(self, kinds: list[tuple[str, bool, bool]], fires: bool) -> None:
        """Somebody is there, and has something to do, and perhaps something in hand whose time has not come."""
        for worker in WORKERS[:2]:
            self.tell_of_process(worker, "register")
        for name, exclusive, follows in kinds:
            self.create_job(name, exclusive, follows, 500)
            self.run_now(0, 0, 2)
            if fires:
                self.fire(0, 0, 0, "run")
        self.all_is_as_it_must_be()
        self.claim_all(WORKERS[0])

    @move(weight=2, seconds=st.sampled_from([0.001, 0.5, 1, 2, 9, 45]))
    def let_time_pass(self, seconds: float) -> None:
        self.set_time(self.world.now_ms + round(seconds * 1000))

    @move(weight=4, pick=RECENT, from_it_ms=st.sampled_from([0, -1, 1]), looks=st.booleans())
    def come_to_an_edge(self, pick: int, from_it_ms: int, looks: bool) -> None:
        """To the millisecond at which something is due or over, to the one before, or to the one after; and somebody may look at once."""
        world = self.world
        edges = {run.due_ms for run in world.runs.values()} | {node.expires_ms for node in world.nodes.values()}
        edges |= {run.due_ms - 1_000 for run in world.runs.values()}
        edges |= {run.expires_ms for run in world.runs.values() if run.expires_ms is not None}
        edges |= {plan.due_ms for plan in world.plans.values() if plan.due_ms is not None}
        for run in world.runs.values():
            if run.claimed_ms is not None:
                edges.add(max(run.claimed_ms, run.due_ms) + run.timeout_ms + GRACE_MS)
        later = sorted((edge + from_it_ms for edge in edges if edge + from_it_ms > world.now_ms), reverse=True)
        if later:
            self.set_time(picked(later, pick))
        if looks:
            self.sweep()
            self.promote(0, 100)

    @move(boot_id=PROCESSES, from_it_ms=st.sampled_from([-1, 0, 1]))
    def outlive_a_lease(self, boot_id: str, from_it_ms: int) -> None:
        """To the end of a lease, and a millisecond around it; then somebody wants to bury whoever had it."""
        node = self.world.nodes.get(boot_id)
        if node is not None and node.expires_ms + from_it_ms > self.world.now_ms:
            self.set_time(node.expires_ms + from_it_ms)
            self.tell_of_process(boot_id, "bury")

    @move(
        weight=2, boot_id=PROCESSES, what=st.sampled_from(["register", "beat", "leave", "bury", "drain", "ask_drain"])
    )
    def tell_of_process(self, boot_id: str, what: str) -> None:
        node, world = BootId(boot_id), self.world
        match what:
            case "register":
                new = NewNode(boot_id=node, role=Role.ALL, host="here", pid=1, version="1")
                self.both(lambda store: store.register(new, lease_s=LEASE_S))
                fleet.register(world, boot_id)
            case "beat":
                assert self.both(lambda store: _beat(store, node)) == fleet.beat(world, boot_id)
            case "leave":
                self.both(lambda store: store.leave(node))
                fleet.leave(world, boot_id)
            case "bury":
                assert self.both(lambda store: store.bury(node)) == fleet.bury(world, boot_id)
            case "drain":
                self.both(lambda store: store.drain(node))
                fleet.drain(world, boot_id)
            case _:
                assert self.both(lambda store: store.ask_drain(node)) == fleet.ask_drain(world, boot_id)

    @move(owner=PROCESSES, behind=st.sampled_from([0, 0, 1]), drops=st.booleans())
    def hand_over_shards(self, owner: str, behind: int, drops: bool) -> None:
        """Taken or dropped as they are seen, or as they were before."""
        seen = {number: epoch - behind for number, epoch in self._epochs().items()}
        if drops:
            self.both(lambda store: store.drop_shards(BootId(owner), seen))
            fleet.drop_shards(self.world, owner, seen)
        else:
            taken = fleet.take_shards(self.world, owner, seen)
            assert self.both(lambda store: store.take_shards(BootId(owner), seen)) == taken

    @move(queue=st.sampled_from(QUEUES), note=st.sampled_from([None, "a note"]), resumes=st.booleans())
    def pause_queue(self, queue: str, note: str | None, resumes: bool) -> None:
        if resumes:
            assert self.both(lambda store: store.resume_queue(queue)) == fleet.resume_queue(self.world, queue)
        else:
            self.both(lambda store: store.pause_queue(queue, note=note))
            fleet.pause_queue(self.world, queue, note)

    @move(name=NAMES, exclusive=st.booleans(), follows=st.booleans(), delay_ms=DELAYS_MS)
    def create_job(self, name: str, exclusive: bool, follows: bool, delay_ms: int) -> None:
        next_ms = self.later_ms(max(delay_ms, 0))
        schedule = After(delay_ms=2_000, first_ms=next_ms) if follows else Every(period_ms=PERIOD_MS, anchor_ms=next_ms)
        overlap = Overlap.QUEUE_ALL if exclusive else Overlap.ALLOW
        job = a_job(name, next_ms=next_ms, schedule=schedule, overlap=overlap)
        job = msgspec.structs.replace(job, id=new_job_id(START_MS, self.entropy()))
        (created,) = self.both(lambda store: store.create_jobs([job]))
        delay = schedule.delay_ms if isinstance(schedule, After) else None
        made = jobs.create(self.world, job.id, job.definition, next_ms=next_ms, delay_ms=delay)
        assert (created is not None) == made
        if created is not None:
            self.jobs[job.id] = created

    @move(weight=2, pick=PICKS, how=st.sampled_from(["pause", "resume", "edit", "cancel", "stop", "delete"]))
    def change_job(self, pick: int, how: str) -> None:
        job_id = picked(list(self.jobs), pick)
        job, unstarted = self.world.jobs[job_id], jobs.unstarted(self.world, job_id)
        ahead = tuple(run.id for run in jobs.planned_ahead(self.world, job_id))
        others = [run for run in unstarted if run.id not in ahead]
        next_ms, awaiting = jobs.undecided(self.world, job_id)
        state = JobState.ACTIVE if job.state is JobState.FINISHED and ahead else job.state
        wanted = jobs.Change(state, job.definition, next_ms, awaiting, pause_note=job.pause_note, unplan=ahead)
        if how == "pause" and state is JobState.ACTIVE:
            hold = tuple(run.id for run in others if run.reason != HeldReason.PAUSED)
            wanted = jobs.Change(
                JobState.PAUSED, job.definition, next_ms, awaiting, pause_note="why", unplan=ahead, hold=hold
            )
        elif how == "resume" and state is JobState.PAUSED:
            paused = [run for run in others if run.state is RunState.HELD and run.reason == HeldReason.PAUSED]
            free = tuple(run.id for run in paused)
            wanted = jobs.Change(JobState.ACTIVE, job.definition, next_ms, awaiting, unplan=ahead, free=free)
        elif how in ("cancel", "stop") and state is not JobState.FINISHED:
            cancel, reason = tuple(run.id for run in others), EndReason.JOB_CANCELLED
            wanted = jobs.Change(
                *(JobState.CANCELLED, job.definition, None, None),
                unplan=ahead,
                cancel=cancel,
                reason=reason,
                stop=how == "stop",
            )
        elif how == "delete":
            cancel = tuple(run.id for run in others)
            wanted = jobs.Change(
                state, job.definition, None, None, deleted=True, unplan=ahead, cancel=cancel, pause_note=job.pause_note
            )
        elif state is not JobState.CANCELLED:
            tags = (f"v{job.version + 1}",)
            definition = msgspec.structs.replace(job.definition, tags=tags)
            wanted = jobs.Change(state, definition, next_ms, awaiting, pause_note=job.pause_note, unplan=ahead)
        self.change(job_id, wanted)

    @move(
        weight=3,
        pick=PICKS,
        older=st.sampled_from([0, 0, 0, 1]),
        behind=st.sampled_from([0, 0, 0, 1]),
        how=st.sampled_from(["run", "run", "skip", "last"]),
    )
    def fire(self, pick: int, older: int, behind: int, how: str) -> None:
        """The occurrence that a plan is at, by whoever knows the shard and the plan as they are, or as they were."""
        job_id = picked(list(self.jobs), pick)
        job, plan = self.world.jobs[job_id], self.world.plans.get(job_id)
        next_ms = None if plan is None else plan.next_ms
        at_ms = self.world.now_ms if next_ms is None else next_ms
        run = self._occurrence(job_id, at_ms)
        follows = job.delay_ms is not None
        position = at(self.later_ms(at_ms + PERIOD_MS - self.world.now_ms))
        if how == "last":
            position = Position()
        elif how == "run" and follows:
            position = Position(awaiting=run.id)
        firing = Firing(
            job_id=job_id,
            shard=shard_of(job_id),
            version=job.version,
            generation=job.generation - older,
            next_ms=at_ms,
            position=position,
            runs=() if how == "skip" else (run,),
            unfired=(Unfired(at_ms, at_ms, Verdict.SKIPPED, SkipReason.MISFIRE),) if how == "skip" else (),
        )
        self._fire(firing, behind=behind)
        self.firings.append(firing)

    @move(pick=PICKS)
    def fire_again(self, pick: int) -> None:
        if self.firings:
            self._fire(picked(self.firings, pick), behind=0)

    @move(weight=2)
    def sweep(self) -> None:
        """All that is looked after now and then."""
        world = self.world
        assert self.both(_strays) == runs.strays(world, grace_ms=GRACE_MS)
        cancelled = self.both(lambda store: _swept(store, "cancels", store.sweep_cancelled(limit=100)))
        assert cancelled == ends.sweep_cancelled(world)
        assert self.both(lambda store: _swept(store, "expiries", store.expire(limit=100))) == ends.expire(world)
        assert self.both(lambda store: _swept(store, "awaiting", store.sweep_awaiting())) == jobs.sweep_awaiting(world)
        assert self.both(lambda store: _swept(store, "held", store.free_held(limit=100))) == runs.free_held(world)
        # How many were forgotten is left open: a gate may be known from a claim that did not hold.
        self.each(lambda store: _swept(store, "gates", store.sweep_gates(limit=100)))
        gates.sweep(world)

    def _epochs(self) -> dict[int, int]:
        """Of the shards that matter."""
        shards = {shard_of(job_id) for job_id in self.jobs}
        return {number: self.world.shards.get(number, Shard()).epoch for number in sorted(shards)}

    def _occurrence(self, job_id: JobId, at_ms: int) -> NewRun:
        job, known = self.jobs[job_id], self.world.jobs[job_id]
        exclusive = job.definition.overlap is not Overlap.ALLOW
        token = first_token(known.generation)
        run = an_occurrence(job, at_ms, exclusive=exclusive, token=token, timeout_ms=TIMEOUT_MS)
        self.written.append(run)
        return run

    def _fire(self, firing: Firing, *, behind: int) -> None:
        epochs = {number: epoch - behind for number, epoch in self._epochs().items()}
        unfired = tuple((one.from_ms, one.to_ms, one.verdict, one.reason) for one in firing.unfired)
        modelled = jobs.Firing(
            firing.job_id,
            firing.shard,
            firing.generation,
            firing.next_ms,
            firing.position.next_ms,
            firing.position.awaiting,
            firing.runs,
            unfired,
        )
        fired = {firing.job_id} if jobs.fire(self.world, modelled, epochs) else set()
        assert self.both(lambda store: store.fire([firing], epochs)) == fired


class Machine(Living):
    """All moves are one rule: of many rules the half is left out in every example, and too little of a life is left."""

    @rule(step=steps(Living))
    def do(self, step: Step) -> None:
        name, arguments = step
        getattr(self, name)(**arguments)


async def _beat(store: Store, node: BootId) -> tuple[int, bool] | None:
    try:
        beat = await store.beat(node, lease_s=LEASE_S)
    except LeaseLost:
        return None
    return beat.now_ms, beat.drain_asked


async def _swept(store: Store, chore: str, sweep: Awaitable[int]) -> int:
    """How much a sweep found to do: nothing where there was no such chore."""
    told = getattr(await store.chores(), chore)
    found = await sweep
    assert told or not found, f"nobody would have swept: {chore}"
    return found


async def _strays(store: Store) -> dict[RunId, bool]:
    return {stray.run_id: stray.overtime for stray in await store.strays(grace_ms=GRACE_MS, limit=100)}
