"""What is done with runs: asked for, made ready, claimed, and ended by those who have them, by those who had them, and by others."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from hypothesis import strategies as st

from dueline.domain.gates import Wish
from dueline.domain.ids import BootId, RunId
from dueline.domain.lanes import PLAIN
from dueline.domain.redriving import redriven_id
from dueline.domain.run import OutcomeKind
from dueline.domain.states import EndReason, HeldReason, RunKind, RunState
from dueline.store.shapes import Claim, Finish, Postponed, Reclaim, Redrive, Retry
from tests.model import ends, gates, runs
from tests.model.driver import GATES, Driver, move, picked
from tests.model.sides import TENANTS, WORKERS
from tests.model.world import Run, check_turns

PICKS = st.integers(0, 30)
RECENT = st.integers(0, 4)
SOME = st.lists(RECENT, min_size=1, max_size=3)
TOKENS = st.sampled_from([0, 0, 0, 0, -1, 1])
"""How far from the token that was given: as a rule it is that one."""
AHEAD_MS = st.sampled_from([0, 1_000])
DELAYS_MS = st.sampled_from([0, -3_000, 500, 1_000, 1_001, 5_000, 30_000])
LIMITS = st.sampled_from([100, 1, 2])
QUEUES = ("default", "slow")
EXPIRIES_MS = st.sampled_from([None, 1, 2_000])
Shape = tuple[str, str, int, int, int | None]
SHAPES = st.tuples(st.sampled_from(TENANTS), st.sampled_from(QUEUES), st.sampled_from([5, 6]), DELAYS_MS, EXPIRIES_MS)

_CLAIMED = attrgetter("token", "job_id", "attempt", "lost", "due_ms", "claimed_ms", "begun_ms", "exclusive")
"""What a claim tells of its run."""


class Working(Driver):
    @move(weight=2, shapes=st.lists(SHAPES, min_size=1, max_size=3), again=st.none() | PICKS)
    def enqueue(self, shapes: list[Shape], again: int | None) -> None:
        """Some new runs, and sometimes one that was asked for before."""
        known = [run for run in self.written if run.kind in (RunKind.ADHOC, RunKind.MANUAL)]
        wanted = [picked(known, again)] if known and again is not None else []
        for tenant, queue, priority, delay_ms, expiry_ms in shapes:
            due_ms = self.later_ms(delay_ms)
            fields: dict[str, Any] = {"tenant": tenant, "queue": queue, "priority": priority}
            expires_ms = None if expiry_ms is None else due_ms + expiry_ms
            wanted.append(self.new_run(None, due_ms=due_ms, expires_ms=expires_ms, **fields))
        assert self.both(lambda store: store.enqueue(wanted)) == runs.write(self.world, wanted)

    @move(weight=2, pick=PICKS, delay_ms=DELAYS_MS, count=st.integers(1, 2))
    def run_now(self, pick: int, delay_ms: int, count: int) -> None:
        job = picked(list(self.jobs.values()), pick)
        new = [self.new_run(job, due_ms=self.later_ms(delay_ms), priority=5) for _ in range(count)]
        assert self.both(lambda store: store.enqueue(new)) == runs.write(self.world, new)

    @move(weight=2, ahead_ms=AHEAD_MS | st.just(3_000), limit=LIMITS)
    def promote(self, ahead_ms: int, limit: int) -> None:
        answer = self.both(lambda store: store.promote(ahead_ms=ahead_ms, limit=limit))
        assert answer == runs.promote(self.world, ahead_ms=ahead_ms, limit=limit)

    @move(weight=4, worker=st.sampled_from(WORKERS))
    def claim_all(self, worker: str) -> None:
        for queue in QUEUES:
            self.claim(worker, queue, 1_000, 100)

    @move(
        weight=2,
        worker=st.sampled_from([*WORKERS, "unknown"]),
        queue=st.sampled_from(QUEUES),
        ahead_ms=AHEAD_MS,
        limit=LIMITS,
    )
    def claim(self, worker: str, queue: str, ahead_ms: int, limit: int) -> None:
        """A store may put another tenant first than the other does: then all is claimed, if that comes to the same."""
        candidates = runs.claimable(self.world, worker, queue, ahead_ms=ahead_ms)
        one, other = ([run.id for run in _in_line(line, candidates)] for line in self.lines)
        if one != other:
            limit = 100
            if _contend(candidates):
                return
        answers = self.each(lambda store: store.claim(BootId(worker), queue, PLAIN, ahead_ms=ahead_ms, limit=limit))
        claimed, blocked = runs.claim(self.world, worker, _in_line(self.lines[0], candidates)[:limit])
        for answer in answers:
            found = {(claim.run_id, *_CLAIMED(claim)) for claim in answer.claims}
            assert found == {(run.id, *_CLAIMED(run)) for run in claimed}
            check_turns(self.world.runs[claim.run_id] for claim in answer.claims)
            assert sorted((one.run_id, one.token, one.held) for one in answer.blocked) == sorted(blocked)
        self.claims += sorted(answers[0].claims, key=lambda claim: claim.run_id)
        self.blocked += sorted(answers[0].blocked, key=lambda one: one.run_id)

    @move(weight=2, pick=RECENT, token=TOKENS)
    def confirm(self, pick: int, token: int) -> None:
        (claim,) = self.any_claims([pick], token)
        answer = self.both(lambda store: store.confirm([claim]))
        tokens, blocked = runs.confirm(self.world, claim.run_id, claim.token)
        assert answer.tokens == tokens
        assert [(one.run_id, one.token, one.held) for one in answer.blocked] == blocked
        self.blocked += answer.blocked

    @move(weight=2, picks=SOME, token=TOKENS)
    def release(self, picks: list[int], token: int) -> None:
        claims = self.any_claims(picks, token)
        assert self.both(lambda store: store.release(claims)) == runs.release(self.world, _keys(claims))

    @move(
        weight=3,
        picks=SOME,
        token=TOKENS,
        state=st.sampled_from([RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED]),
        reason=st.sampled_from([None, "gone"]),
    )
    def finish(self, picks: list[int], token: int, state: RunState, reason: str | None) -> None:
        claims = self.any_claims(picks, token)
        kind = OutcomeKind.SUCCEEDED if state is RunState.SUCCEEDED else OutcomeKind.REFUSED
        records = [self.record(claim, kind) for claim in claims]
        finishes = [
            Finish(
                claim.run_id,
                claim.token,
                state,
                claim.exclusive,
                record.started_ms,
                record.finished_ms,
                record,
                reason,
                awaited=claim.job_id is not None and self.world.jobs[claim.job_id].delay_ms is not None,
                gated=self._is_gated(claim),
            )
            for claim, record in zip(claims, records, strict=True)
        ]
        ended = runs.finish(self.world, _keys(claims), state, reason, records=records)
        assert self.both(lambda store: store.finish(finishes)) == ended

    @move(weight=2, pick=RECENT, token=TOKENS, delay_ms=DELAYS_MS)
    def retry(self, pick: int, token: int, delay_ms: int) -> None:
        (claim,) = self.any_claims([pick], token)
        if self._is_early(claim):
            return
        due_ms, record = self.later_ms(delay_ms), self.record(claim, OutcomeKind.REFUSED)
        wanted = Retry(claim.run_id, claim.token, due_ms, record, self._is_gated(claim))
        ended = runs.retry(self.world, (claim.run_id, claim.token), due_ms=due_ms, record=record)
        assert self.both(lambda store: store.retry([wanted])) == ended

    @move(pick=RECENT, token=TOKENS, delay_ms=DELAYS_MS)
    def postpone(self, pick: int, token: int, delay_ms: int) -> None:
        (claim,) = self.any_claims([pick], token)
        wanted = Postponed(claim.run_id, claim.token, self.later_ms(delay_ms), HeldReason.CIRCUIT)
        put_off = runs.postpone(
            self.world, (claim.run_id, claim.token), due_ms=wanted.due_ms, reason=HeldReason.CIRCUIT
        )
        assert self.both(lambda store: store.postpone([wanted])) == put_off

    @move(weight=2, picks=SOME, token=TOKENS, names=st.sampled_from([(0,), (1,), (0, 1), (2,), (1, 2)]))
    def enter(self, picks: list[int], token: int, names: tuple[int, ...]) -> None:
        """Whoever does so is about to start what is due, has the place of its job, and passed no gate with this claim, and those who wait
        are of one flow, so that there is no question who is first."""
        claims = [claim for claim in self.any_claims(picks, token) if self._may_enter(claim)]
        passed = tuple(GATES[name] for name in names)
        wishes = [Wish(claim.run_id, claim.token, passed) for claim in claims]
        starts = gates.enter(self.world, _keys(claims), [gate.id for gate in passed])
        assert self.both(lambda store: store.enter(wishes, ahead_ms=0)) == starts

    @move(
        pick=RECENT,
        token=TOKENS,
        state=st.sampled_from([RunState.READY, RunState.RETRYING, RunState.FAILED, RunState.CANCELLED]),
        is_lost=st.booleans(),
        by_owner=st.booleans(),
        delay_ms=DELAYS_MS,
    )
    def reclaim(self, pick: int, token: int, state: RunState, is_lost: bool, by_owner: bool, delay_ms: int) -> None:
        """One that is not lost was broken off by its owner, and does not count if it goes back."""
        (claim,) = self.any_claims([pick], token)
        run = self.world.held(claim.run_id, claim.token)
        if state is RunState.RETRYING and self._is_early(claim):
            return
        owner = run.worker if run is not None and by_owner else None
        wanted = Reclaim(
            claim.run_id,
            claim.token,
            state,
            is_lost,
            self.later_ms(delay_ms) if state is RunState.RETRYING else None,
            EndReason.POISON if state is RunState.FAILED else None,
            self.record(claim, OutcomeKind.LOST),
            None if owner is None else BootId(owner),
            counted=is_lost or state is not RunState.READY,
        )
        taken = runs.reclaim(
            self.world,
            (claim.run_id, claim.token),
            state,
            lost=is_lost,
            counted=wanted.counted,
            due_ms=wanted.due_ms,
            owner=owner,
            reason=wanted.reason,
            record=wanted.attempt,
        )
        assert self.both(lambda store: store.reclaim([wanted])) == taken

    @move(weight=2, pick=PICKS, how=st.sampled_from(["hold", "skip", "displace"]))
    def settle_blocked(self, pick: int, how: str) -> None:
        """What is done with a run that met another of its job, now or long ago."""
        if not self.blocked:
            return
        met = picked(self.blocked, pick)
        key, reason = (met.run_id, met.token), EndReason.OVERLAP
        match how:
            case "hold":
                assert self.both(lambda store: store.hold_blocked([met])) == runs.hold_blocked(self.world, *key)
            case "skip":
                skipped = runs.skip_blocked(self.world, *key, reason)
                assert self.both(lambda store: store.skip_blocked([met], reason=reason)) == skipped
            case _:
                held = runs.displace_blocked(self.world, *key, reason)
                assert self.both(lambda store: store.displace_blocked([met], reason=reason)) == held

    @move(picks=st.lists(PICKS, min_size=1, max_size=3, unique=True), tenant=st.sampled_from(TENANTS))
    def cancel(self, picks: list[int], tenant: str) -> None:
        wanted = list(dict.fromkeys(map(self.any_run, picks)))
        answers = ends.cancel(self.world, tenant, wanted, "requested")
        assert self.both(lambda store: store.cancel_runs(tenant, wanted, reason="requested")) == answers

    @move(pick=PICKS, delay_ms=DELAYS_MS, gives_up=st.booleans())
    def recover(self, pick: int, delay_ms: int, gives_up: bool) -> None:
        """What is done after an outage with a run that waits."""
        run_id = self.any_run(pick)
        if gives_up:
            reason = EndReason.RECOVERY
            ended = ends.cancel_waiting(self.world, run_id, reason)
            assert self.both(lambda store: store.cancel_waiting([(run_id, reason)])) == ended
        else:
            due_ms = self.later_ms(delay_ms)
            moved = runs.repace(self.world, run_id, due_ms)
            assert self.both(lambda store: store.repace([(run_id, due_ms)])) == moved

    @move(
        weight=2,
        pick=PICKS,
        tenant=st.sampled_from(TENANTS),
        key=st.sampled_from(["a", "b", "purge"]),
        is_dead=st.booleans(),
    )
    def redrive(self, pick: int, tenant: str, key: str, is_dead: bool) -> None:
        """A dead letter as a rule; sometimes a run that is none, or not any more, or another tenant's. It may be put aside as well."""
        if not self.world.history:
            return
        dead = picked(sorted(self.world.dead if is_dead and self.world.dead else self.world.history), pick)
        parent = self.world.history[dead]
        new = self.new_run(
            None,
            due_ms=self.later_ms(0),
            id=redriven_id(RunId(dead), key),
            kind=RunKind.REDRIVE,
            tenant=parent.tenant,
            queue=parent.queue,
            scheduled_ms=parent.scheduled_ms,
            parent_id=RunId(dead),
            missed=True,
        )
        if key == "purge":
            purged = ends.purge(self.world, tenant, [dead])
            assert self.both(lambda store: store.purge(tenant, [RunId(dead)])) == purged
            return
        answer = self.both(lambda store: store.redrive(tenant, [Redrive(RunId(dead), new)]))
        assert answer == runs.redrive(self.world, tenant, dead, new)

    def _is_gated(self, claim: Claim) -> bool:
        return any(run_id == claim.run_id for _, run_id in self.world.gate_places)

    def _is_early(self, claim: Claim) -> bool:
        """Whether no attempt can have ended, because the time of the run has not come."""
        run = self.world.held(claim.run_id, claim.token)
        return run is not None and max(run.due_ms, run.scheduled_ms) > self.world.now_ms

    def _may_enter(self, claim: Claim) -> bool:
        run = self.world.held(claim.run_id, claim.token)
        if run is None:
            return True
        has_place = run.job_id is None or not run.exclusive or self.world.places.get(run.job_id) == run.id
        waiting = [one for one in self.world.runs.values() if one.waits_for is not None]
        in_line = all(one.flow == run.flow for one in waiting)
        return run.due_ms <= self.world.now_ms and has_place and in_line and not self._is_gated(claim)


def _keys(claims: list[Claim]) -> list[tuple[bytes, int]]:
    return [(claim.run_id, claim.token) for claim in claims]


def _in_line(line: list[bytes], found: list[Run]) -> list[Run]:
    return sorted(found, key=lambda run: line.index(run.id))


def _contend(found: list[Run]) -> bool:
    """Whether several of one exclusive job are among them: the first of them has its place."""
    jobs = [run.job_id for run in found if run.exclusive]
    return len(jobs) > len(set(jobs))
