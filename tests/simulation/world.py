"""One seed: a cluster, its clients and its target, some minutes of trouble, then peace; and what is wrong afterwards."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from random import Random
from typing import Any

import msgspec
import structlog

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId, run_text
from dueline.domain.run import Run
from dueline.domain.states import TERMINAL, JobState, RunState
from tests.simulation.chaos import Chaos, Weather, weather_of
from tests.simulation.check import check
from tests.simulation.client import Client
from tests.simulation.clocks import StoreClock
from tests.simulation.definitions import TENANTS, TIMEOUT_MS_MAX
from tests.simulation.evidence import Evidence, all_runs, dead_letters, read_ledger
from tests.simulation.fleet import Fleet, Layout, layout_of
from tests.simulation.journal import Journal
from tests.simulation.link import Network
from tests.simulation.loop import VirtualLoop
from tests.simulation.owners import Owners
from tests.simulation.store import SimStore
from tests.simulation.target import Hit, SimTarget
from tests.simulation.trace import Fact, Fault, Trace

PEACE_S = 90.0
"""How long everything is well before the end: the backlog drains meanwhile."""
_OLD_MS = TIMEOUT_MS_MAX + limits.TIMEOUT_GRACE_MS + int((limits.LEASE_S + 2 * limits.SWEEP_S) * 1000) + 5_000
"""A run that is due for longer, with the longest timeout, is stuck."""
_LAST_EFFECTS_S = 15.0
"""After so long nothing takes effect any more that somebody asked for in the time of trouble."""
_CLOSING_S = 120


class Report(msgspec.Struct, kw_only=True):
    seed: int
    digest: str
    wrong: list[str]
    process_s: float
    faults: dict[Fault, int]
    facts: dict[Fact, int]
    runs: int
    hits: int
    trace: str = ""


def simulate(seed: int, *, minutes: float, keep: bool = False) -> Report:
    """The same seed and minutes give the same report. With `keep` it has the whole trace."""
    loop = VirtualLoop()
    trace = Trace(keep=keep)
    gc.disable()
    try:
        with _logs() as logs:
            world = World(loop, trace, seed)
            loop.run_until_complete(world.run(minutes * 60))
        gc.collect()
        wrong = [*world.wrong, *(f"unhandled: {one}" for one in loop.unhandled), *logs]
    finally:
        gc.enable()
        loop.close()
    return Report(
        seed=seed,
        digest=trace.digest,
        wrong=wrong,
        process_s=world.fleet.process_s,
        faults=dict(trace.faults),
        facts=dict(trace.facts),
        runs=world.runs_total,
        hits=len(world.target.hits),
        trace=trace.text,
    )


def processes_of(seed: int) -> int:
    """How many processes a seed begins with, and so how long it takes, more or less."""
    return sum(_beginning(seed)[2].values())


def _beginning(seed: int) -> tuple[Random, Weather, Layout]:
    random = Random(f"{seed}/world")
    return random, weather_of(random), layout_of(random)


class World:
    def __init__(self, loop: VirtualLoop, trace: Trace, seed: int) -> None:
        self._random, self._weather, layout = _beginning(seed)
        self._seed = str(seed)
        self._loop = loop
        self._trace = trace
        self._clock = StoreClock(loop)
        self._store = SimStore(self._clock)
        self._owners = Owners(trace, self._clock)
        self._network = Network(loop, self._store, self._clock, trace, self._owners)
        self._journal = Journal(self._clock)
        self._glimpses: list[dict[RunId, Run]] = []
        self.target = SimTarget(loop, trace, Random(f"{seed}/target"))
        self.fleet = Fleet(self._network, self.target, layout, seed=self._seed)
        self.wrong: list[str] = []
        self.runs_total = 0

    async def run(self, trouble_s: float) -> None:
        await self._store.open()
        await self._store.migrate()
        self.fleet.begin()
        clients = [self._client(number) for number in range(1, self._random.randint(1, 3) + 1)]
        chaos = Chaos(self._network, self.fleet, self._weather, Random(f"{self._seed}/chaos"))
        asking = [client.start(trouble_s, gap_s=self._random.choice([3.0, 6.0])) for client in clients]
        glimpsing = asyncio.create_task(self._glimpse(trouble_s))
        await chaos.rage(trouble_s)
        chaos.heal()
        self.target.healed = True
        await asyncio.gather(*asking, glimpsing)
        await asyncio.sleep(_LAST_EFFECTS_S)
        await clients[0].start_lifting()
        await asyncio.sleep(PEACE_S - _LAST_EFFECTS_S)
        await self._check_progress()
        await self._close(clients[0])
        self.wrong += [*self._owners.wrong, *self._store.wrong]
        self.wrong += check(await self._evidence())
        await self._store.close()

    async def _close(self, client: Client) -> None:
        """Delete the jobs, let what runs end, and have everybody leave."""
        await client.start_closing()
        for _ in range(_CLOSING_S):
            await asyncio.sleep(1.0)
            if not (await self._store.left_behind())["runs"]:
                break
        # Two sweeps more: places of runs that ended are nobody's.
        await asyncio.sleep(2 * limits.SWEEP_S + 1)
        self.fleet.close()
        for _ in range(_CLOSING_S):
            await asyncio.sleep(1.0)
            if not self.fleet.processes:
                break
        if self.fleet.processes:
            self.wrong.append(f"I15: {[process.name for process in self.fleet.processes]} do not end")
        if self.fleet.remnants():
            self.wrong.append(f"simulation: something is left of {self.fleet.remnants()}")

    async def _check_progress(self) -> None:
        """After the peace nothing waits that should not: those of a job may stand in line behind earlier ones that get on."""
        now_ms = self._clock.wall_ms()
        paused = {job.id for job in self._journal.living() if job.state is JobState.PAUSED}
        got_on_ms: defaultdict[JobId | None, int] = defaultdict(int)
        for run in sorted(await all_runs(self._store), key=attrgetter("due_ms")):
            since_ms = max(run.due_ms, run.claimed_ms or 0)
            if run.job_id is not None:
                got_on_ms[run.job_id] = max(got_on_ms[run.job_id], run.claimed_ms or 0, run.finished_ms or 0)
                since_ms = max(since_ms, got_on_ms[run.job_id])
            if run.state not in TERMINAL and run.job_id not in paused and since_ms < now_ms - _OLD_MS:
                age_s = (now_ms - run.due_ms) / 1000
                self.wrong.append(f"I15: {run_text(run.id)} is {run.state} ({run.reason}) {age_s} s after it was due")

    async def _glimpse(self, trouble_s: float) -> None:
        """Look twice, meanwhile, at what has ended."""
        for _ in range(2):
            await asyncio.sleep(trouble_s / 2)
            self._glimpses.append({run.id: run for run in await all_runs(self._store) if run.state in TERMINAL})

    async def _evidence(self) -> Evidence:
        runs = await all_runs(self._store)
        self.runs_total = len(runs)
        self._trace.facts[Fact.DEAD] += sum(run.state is RunState.FAILED for run in runs)
        self._trace.facts[Fact.DOUBLE_HIT] += _double_hits(self.target.hits)
        return Evidence(
            journal=self._journal,
            hits=self.target.hits,
            troubles=self._network.troubles,
            owners=self._owners,
            clock=self._clock,
            runs=runs,
            ledger=await read_ledger(self._store, self._journal),
            dead=await dead_letters(self._store),
            left_behind=await self._store.left_behind(),
            glimpses=self._glimpses,
        )

    def _client(self, number: int) -> Client:
        tenant = self._random.choice(TENANTS)
        return Client(self._network, self._journal, seed=self._seed, name=f"c{number}", tenant=tenant)


def _double_hits(hits: list[Hit]) -> int:
    return sum(times > 1 for times in Counter(hit.run_id for hit in hits).values())


@contextmanager
def _logs() -> Iterator[list[str]]:
    """Keep the product's log to itself; what broke in it is told."""
    broken: list[str] = []

    def keep(_logger: Any, _method: str, event: Any) -> Any:
        if event.get("exc_info"):
            broken.append(
                f"log: {event['event']} {event.get('loop')}: {structlog.processors.format_exc_info(_logger, _method, event)}"
            )
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[keep], cache_logger_on_first_use=False)
    try:
        yield broken
    finally:
        structlog.configure(**before)
