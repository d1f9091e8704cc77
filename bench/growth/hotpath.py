"""The way of runs through the store, one step after the other: found due, decided, fired, claimed, finished; and enqueued.

Each step is what a scheduler, a worker or the API does, through the same methods, by batches as large as theirs; nothing is carried out.
"""

from __future__ import annotations

import msgspec

from bench.growth.costs import Cost, Watch, total
from bench.lines import WORKER, Bench, a_run, entropy
from dueline.domain import limits
from dueline.domain.ids import new_run_id
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT
from dueline.domain.lanes import PLAIN
from dueline.engine.definitions import Definitions
from dueline.engine.scheduler import make_firing
from dueline.store.shapes import DuePlan, Firing

_EVER_MS = 1 << 53
_LOOKS = 20
"""Questions for what is due where nothing is, in one round."""
QUEUE = DEFAULT_QUEUE
FIRING = ("find due", "definitions", "decide", "fire")
CARRYING_OUT = ("claim", "finish")


class HotPath:
    """One database with jobs in it that are due some day; whoever comes first is taken for due now."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._store = bench.store
        self._epochs: dict[int, int] = {}

    async def begin(self) -> None:
        await self.bench.vacuum()
        self._epochs = await self._store.take_shards(WORKER, dict.fromkeys(range(limits.SHARDS), 0))

    async def round(self, pages: int) -> dict[str, Cost]:
        """So many pages of due jobs on all of their way, and as many batches of runs without a job."""
        watch, aside = Watch(self.bench.server.pid), Watch(self.bench.server.pid)
        for _ in range(_LOOKS):
            with watch.on("look") as spent:
                await self._store.due_plans(self._epochs, since_ms=0, until_ms=1, limit=limits.DUE_PAGE)
                await self._store.crowds(
                    self._epochs, since_ms=0, until_ms=limits.CROWD_AHEAD_MS, least=limits.CROWD_MIN
                )
            spent.count += 1
        for _ in range(pages):
            fired = await self.fire(watch)
            await self.drain(watch, fired)
            written = await self.enqueue(watch)
            await self.drain(aside, written)
        costs = watch.costs()
        return {"all of a run": total(costs[what] for what in (*FIRING, *CARRYING_OUT)), **costs}

    async def fire(self, watch: Watch) -> int:
        """A page of those that are due first; answers how many."""
        with watch.on("find due") as spent:
            due = await self._store.due_plans(self._epochs, since_ms=0, until_ms=_EVER_MS, limit=limits.FIRE_BATCH)
        spent.count += len(due)
        # Nobody has read them before: with many jobs that is the rule.
        with watch.on("definitions") as spent:
            versions = await Definitions(self._store).load((plan.job_id, plan.version) for plan in due)
        spent.count += len(due)
        with watch.on("decide") as spent:
            firings = [
                make_firing(plan, versions[plan.job_id, plan.version], {}, now_ms=plan.next_ms, until_ms=plan.next_ms)
                for plan in due
            ]
        spent.count += len(due)
        firings = _as_of(await self._store.now_ms(), due, firings)
        with watch.on("fire") as spent:
            fired = await self._store.fire(firings, self._epochs)
        spent.count += len(due)
        assert len(fired) == len(due), f"{len(fired)} of {len(due)} were fired"
        return len(fired)

    async def drain(self, watch: Watch, count: int) -> None:
        """Claim and finish as many as were written; where others wait, it is their turn."""
        ended = 0
        while ended < count:
            with watch.on("claim") as spent:
                claimed = await self._store.claim(
                    WORKER, QUEUE, PLAIN, ahead_ms=0, limit=min(limits.CLAIM_BATCH, count - ended)
                )
            spent.count += len(claimed.claims)
            with watch.on("finish") as spent:
                await self.bench.hands.end(claimed.claims)
            spent.count += len(claimed.claims)
            assert claimed.claims, f"{count - ended} of {count} cannot be claimed: {len(claimed.blocked)} are blocked"
            ended += len(claimed.claims)

    async def enqueue(self, watch: Watch) -> int:
        """A batch of runs without a job; answers how many."""
        now_ms = await self._store.now_ms()
        count = limits.CLAIM_BATCH
        runs = [a_run(now_ms, tenant=DEFAULT_TENANT, queue=QUEUE, job_id=None) for _ in range(count)]
        with watch.on("enqueue") as spent:
            await self._store.enqueue(runs)
        spent.count += count
        return count


def _as_of(now_ms: int, due: list[DuePlan], firings: list[Firing]) -> list[Firing]:
    """The same, as if the time of all of them were now: ids that nobody used before, and runs that are ready at once."""
    moved = []
    for plan, firing in zip(due, firings, strict=True):
        (run,) = firing.runs
        assert run.scheduled_ms == plan.next_ms
        run = msgspec.structs.replace(run, id=new_run_id(now_ms, entropy()), scheduled_ms=now_ms, due_ms=now_ms)
        moved.append(msgspec.structs.replace(firing, runs=(run,)))
    return moved
