"""Who may write about a run, as the store's answers say it: tokens only grow, each claim is somebody's alone, an end is final, and a shard
has one scheduler an epoch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from operator import attrgetter
from typing import Any

import msgspec

from dueline.domain.errors import DuelineError, LeaseLost
from dueline.domain.ids import JobId, RunId, run_text
from dueline.domain.ledger import Verdict
from dueline.domain.run import OutcomeKind
from dueline.domain.states import TERMINAL
from dueline.domain.uniqueness import UniqueAnswer, UniqueVerdict
from dueline.store.shapes import CancelAnswer, Claimed, Confirmed, Finish, Firing, Reclaim
from tests.simulation.clocks import StoreClock
from tests.simulation.tolls import Tolls
from tests.simulation.trace import Fact, Trace


class Tenure(msgspec.Struct, frozen=True):
    """From a moment on a shard is somebody's, or nobody's, until the next."""

    from_s: float
    owner: str | None


class Owners:
    """Sees every answer that the store gave, at the moment of its effect."""

    def __init__(self, trace: Trace, clock: StoreClock) -> None:
        self._clock = clock
        self._facts = trace.facts
        self._tokens: dict[RunId, int] = {}
        self.ended_ms: dict[RunId, int] = {}
        """When runs ended by the store's clock, as far as somebody says so: ends that the store makes by itself are not here."""
        self._epochs: dict[int, int] = {}
        self.tenures: defaultdict[int, list[Tenure]] = defaultdict(list)
        """Of each shard, in order."""
        self.buried: dict[str, float] = {}
        """When each process was declared dead, by its boot id."""
        self.wrong: list[str] = []
        """What may not be."""
        tolls = Tolls(trace, clock.wall_ms, self.wrong)
        self._looks: dict[str, Callable[[tuple[Any, ...], dict[str, Any], Any], None]] = {
            "claim": self._claimed,
            "confirm": self._confirmed,
            "finish": self._finished,
            "retry": self._retried,
            "release": self._released,
            "postpone": self._postponed,
            "reclaim": self._reclaimed,
            "cancel_runs": self._cancelled,
            "fire": self._firing,
            "take_shards": self._taken,
            "drop_shards": self._dropped,
            "bury": self._buried,
            "enqueue_unique": self._keyed,
            "enter": tolls.entered,
            "put_limit": tolls.put,
            "delete_limit": tolls.deleted,
            "put_tenant": tolls.tenant_put,
            "change_job": tolls.job_changed,
        }

    def saw(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> None:
        look = self._looks.get(name)
        if look is not None:
            look(args, kwargs, answer)
        elif answer and name in _PLAIN_FACTS:
            self._facts[_PLAIN_FACTS[name]] += 1

    def refused(self, error: DuelineError) -> None:
        if isinstance(error, LeaseLost):
            self._facts[Fact.LEASE_LOST] += 1

    def _claimed(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], answer: Claimed) -> None:
        for claim in answer.claims:
            if claim.run_id in self.ended_ms:
                self._wrong(claim.run_id, "was claimed after its end")
            if claim.token <= self._tokens.get(claim.run_id, -1):
                self._wrong(claim.run_id, f"was claimed twice by token {claim.token}")
            self._tokens[claim.run_id] = claim.token
        if answer.blocked:
            self._facts[Fact.BLOCKED] += 1

    def _confirmed(self, args: tuple[Any, ...], _kwargs: dict[str, Any], answer: Confirmed) -> None:
        for run_id, token in answer.tokens.items():
            self._check(run_id, token, "confirmed")
        if len(answer.tokens) < len(args[0]):
            self._facts[Fact.CONFIRM_REFUSED] += 1

    def _finished(self, args: tuple[Any, ...], _kwargs: dict[str, Any], accepted: Collection[RunId]) -> None:
        finishes: list[Finish] = args[0]
        for finish in _latest(finishes):
            if finish.run_id in accepted:
                self._check(finish.run_id, finish.token, "finished")
                self._end(finish.run_id)
        self._count_refused(finishes, accepted)

    def _retried(self, args: tuple[Any, ...], _kwargs: dict[str, Any], accepted: Collection[RunId]) -> None:
        self._check_all(args[0], accepted, "retried", Fact.RETRIED)
        self._count_refused(args[0], accepted)

    def _released(self, args: tuple[Any, ...], _kwargs: dict[str, Any], accepted: Collection[RunId]) -> None:
        self._check_all(args[0], accepted, "released", Fact.RELEASED)

    def _postponed(self, args: tuple[Any, ...], _kwargs: dict[str, Any], accepted: Collection[RunId]) -> None:
        self._check_all(args[0], accepted, "postponed", Fact.POSTPONED)

    def _reclaimed(self, args: tuple[Any, ...], _kwargs: dict[str, Any], accepted: Collection[RunId]) -> None:
        reclaims: list[Reclaim] = args[0]
        self._check_all(reclaims, accepted, "reclaimed", Fact.RECLAIMED)
        for reclaim in reclaims:
            if reclaim.run_id not in accepted:
                continue
            if reclaim.attempt.outcome.kind is OutcomeKind.LOST:
                self._facts[Fact.LOST] += 1
            if reclaim.state in TERMINAL:
                self._end(reclaim.run_id)

    def _cancelled(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], answer: dict[RunId, CancelAnswer]) -> None:
        for run_id, became in answer.items():
            if became is CancelAnswer.ENDED:
                self._end(run_id)
            if became is not CancelAnswer.OVER:
                self._facts[Fact.CANCELLED] += 1

    def _firing(self, args: tuple[Any, ...], _kwargs: dict[str, Any], fired: Collection[JobId]) -> None:
        firings: list[Firing] = args[0]
        epochs: dict[int, int] = args[1]
        if len(fired) < len(firings):
            self._facts[Fact.FIRING_REFUSED] += 1
        for firing in firings:
            if firing.job_id not in fired:
                continue
            for told in firing.unfired:
                self._facts[Fact.COALESCED if told.verdict is Verdict.COALESCED else Fact.SKIPPED] += 1
            epoch = epochs[firing.shard]
            if epoch != self._epochs.get(firing.shard):
                self.wrong.append(
                    f"I7: shard {firing.shard} was fired for by epoch {epoch}, which is not the current one"
                )

    def _taken(self, args: tuple[Any, ...], _kwargs: dict[str, Any], epochs: dict[int, int]) -> None:
        tenure = Tenure(self._clock.monotonic_s(), args[0])
        for shard, epoch in epochs.items():
            self.tenures[shard].append(tenure)
            if epoch <= self._epochs.get(shard, -1):
                self.wrong.append(f"I7: shard {shard} was taken by epoch {epoch}, which is not a new one")
        self._epochs.update(epochs)
        if epochs:
            self._facts[Fact.SHARDS_TAKEN] += 1

    def _dropped(self, args: tuple[Any, ...], _kwargs: dict[str, Any], _answer: None) -> None:
        """One whose epoch is not the current one any more has dropped nothing."""
        dropped: dict[int, int] = args[1]
        for shard, epoch in dropped.items():
            if epoch == self._epochs.get(shard):
                self.tenures[shard].append(Tenure(self._clock.monotonic_s(), None))
                self._facts[Fact.SHARDS_DROPPED] += 1

    def _keyed(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], answers: list[UniqueAnswer]) -> None:
        for answer in answers:
            fact = _KEY_FACTS.get(answer.verdict)
            if fact is not None:
                self._facts[fact] += 1

    def _buried(self, args: tuple[Any, ...], _kwargs: dict[str, Any], done: bool) -> None:
        if done:
            self.buried[args[0]] = self._clock.monotonic_s()
            self._facts[Fact.BURIED] += 1

    def _check_all(self, asked: list[Any], accepted: Collection[RunId], done: str, fact: Fact) -> None:
        for one in _latest(asked):
            if one.run_id in accepted:
                self._check(one.run_id, one.token, done)
                self._facts[fact] += 1

    def _check(self, run_id: RunId, token: int, done: str) -> None:
        if run_id in self.ended_ms:
            self._wrong(run_id, f"was {done} after its end")
        if self._tokens.get(run_id) != token:
            self._wrong(run_id, f"was {done} by token {token}, and {self._tokens.get(run_id)} has it")

    def _count_refused(self, asked: list[Any], accepted: Collection[RunId]) -> None:
        self._facts[Fact.FENCED] += len(asked) - len(accepted)

    def _end(self, run_id: RunId) -> None:
        if run_id in self.ended_ms:
            self._wrong(run_id, "ended twice")
        self.ended_ms[run_id] = self._clock.wall_ms()

    def _wrong(self, run_id: RunId, what: str) -> None:
        self.wrong.append(f"I6/I7: {run_text(run_id)} {what}")


def _latest(asked: list[Any]) -> list[Any]:
    """Of several words on one run the one that counts: whoever was left in doubt about one attempt says it again, with that of the next."""
    return list({one.run_id: one for one in sorted(asked, key=attrgetter("token"))}.values())


_PLAIN_FACTS = {
    "hold_blocked": Fact.HELD,
    "displace_blocked": Fact.DISPLACED,
    "expire": Fact.EXPIRED,
    "redrive": Fact.REDRIVEN,
}
"""Calls whose answer says by itself that something came of them."""
_KEY_FACTS = {
    UniqueVerdict.REPLACED: Fact.KEY_REPLACED,
    UniqueVerdict.RESCHEDULED: Fact.KEY_MOVED,
    UniqueVerdict.IGNORED: Fact.KEY_TAKEN,
    UniqueVerdict.REJECTED: Fact.KEY_TAKEN,
    UniqueVerdict.TOO_LATE: Fact.KEY_TAKEN,
}
