"""Who may write about a run, as the store's answers say it: tokens only grow, each claim is somebody's alone, an end is final, and a shard
has one scheduler an epoch."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dueline.domain.errors import DuelineError, LeaseLost
from dueline.domain.ids import JobId, RunId, run_text
from dueline.domain.ledger import Verdict
from dueline.domain.run import OutcomeKind
from dueline.domain.states import TERMINAL
from dueline.store.shapes import CancelAnswer, Claimed, Confirmed, Finish, Firing, Reclaim
from tests.simulation.trace import Fact, Trace


class Owners:
    """Sees every answer that the store gave, at the moment of its effect."""

    def __init__(self, trace: Trace, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self._facts = trace.facts
        self._tokens: dict[RunId, int] = {}
        self._ended: set[RunId] = set()
        self._epochs: dict[int, int] = {}
        self.buried: dict[str, float] = {}
        """When each process was declared dead, by its boot id."""
        self.wrong: list[str] = []
        """What may not be."""
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
            "bury": self._buried,
        }

    def saw(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any) -> None:
        look = self._looks.get(name)
        if look is not None:
            look(args, kwargs, answer)
        elif answer and name in _PLAIN_FACTS:
            self._facts[_PLAIN_FACTS[name]] += 1
        elif name == "drop_shards" and args[1]:
            self._facts[Fact.SHARDS_DROPPED] += 1

    def refused(self, error: DuelineError) -> None:
        if isinstance(error, LeaseLost):
            self._facts[Fact.LEASE_LOST] += 1

    def _claimed(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], answer: Claimed) -> None:
        for claim in answer.claims:
            if claim.run_id in self._ended:
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
        for finish in finishes:
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

    def _taken(self, _args: tuple[Any, ...], _kwargs: dict[str, Any], epochs: dict[int, int]) -> None:
        for shard, epoch in epochs.items():
            if epoch <= self._epochs.get(shard, -1):
                self.wrong.append(f"I7: shard {shard} was taken by epoch {epoch}, which is not a new one")
        self._epochs.update(epochs)
        if epochs:
            self._facts[Fact.SHARDS_TAKEN] += 1

    def _buried(self, args: tuple[Any, ...], _kwargs: dict[str, Any], done: bool) -> None:
        if done:
            self.buried[args[0]] = self._now_s()
            self._facts[Fact.BURIED] += 1

    def _check_all(self, asked: list[Any], accepted: Collection[RunId], done: str, fact: Fact) -> None:
        for one in asked:
            if one.run_id in accepted:
                self._check(one.run_id, one.token, done)
                self._facts[fact] += 1

    def _check(self, run_id: RunId, token: int, done: str) -> None:
        if run_id in self._ended:
            self._wrong(run_id, f"was {done} after its end")
        if self._tokens.get(run_id) != token:
            self._wrong(run_id, f"was {done} by token {token}, and {self._tokens.get(run_id)} has it")

    def _count_refused(self, asked: list[Any], accepted: Collection[RunId]) -> None:
        self._facts[Fact.FENCED] += len(asked) - len(accepted)

    def _end(self, run_id: RunId) -> None:
        if run_id in self._ended:
            self._wrong(run_id, "ended twice")
        self._ended.add(run_id)

    def _wrong(self, run_id: RunId, what: str) -> None:
        self.wrong.append(f"I6/I7: {run_text(run_id)} {what}")


_PLAIN_FACTS = {
    "hold_blocked": Fact.HELD,
    "displace_blocked": Fact.DISPLACED,
    "expire": Fact.EXPIRED,
    "redrive": Fact.REDRIVEN,
}
"""Calls whose answer says by itself that something came of them."""
