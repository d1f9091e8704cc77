"""One process of Dueline: opens the store, runs its roles, ends in order.

Start: store (waiting for it if it is away) → migrations → port and first key, so that a start that is refused is refused before anybody
sees it → node (scheduler, worker) → API, so that whoever is answered is served.
Stop: API (nobody new is let in) → node (see `engine.node`) → store. Without an API there may be a listener for health alone, which
answers until the node has ended: that it is not ready is what it has to tell while it drains.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dueline import __version__
from dueline.api.app import make_app, make_health_app
from dueline.api.routes import Vitals, make_surface
from dueline.api.server import ApiServer
from dueline.cli.letting_in import FirstKey, first_key, keep
from dueline.config import Settings, is_loopback
from dueline.domain import limits
from dueline.domain.addresses import AddressPolicy, judge
from dueline.domain.errors import DuelineError, StoreUnavailable
from dueline.domain.ids import BootId
from dueline.domain.lanes import TASK
from dueline.engine.definitions import Definitions
from dueline.engine.execution.secrets import Secrets
from dueline.engine.keyring import Keyring
from dueline.engine.membership import Membership
from dueline.engine.node import Node
from dueline.engine.scheduler import RecoveryMode, SchedulerOptions
from dueline.engine.tallies import Tallies
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import Chance, SystemChance
from dueline.runtime.clock import Clock, SystemClock
from dueline.runtime.descriptors import raise_descriptor_limit
from dueline.runtime.log import get_log
from dueline.runtime.loop import AWAY_S, Loop
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.store.opening import is_embedded, make_store
from dueline.store.protocol import Store
from dueline.tasks.app import App
from dueline.tasks.loading import load_app
from dueline.worker.executors.http import HttpExecutor
from dueline.worker.executors.tasks import TaskExecutor
from dueline.worker.flights import MakeCrew, MakeExecutor
from dueline.worker.offers import Offers
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker

log = get_log(__name__)


class _Prepared(NamedTuple):
    """An API that could be started at once."""

    server: ApiServer
    keeper: Timekeeper
    keyring: Keyring


class Process:
    """`role` None: the API alone. Raises Invalid when the app cannot be loaded."""

    def __init__(
        self,
        settings: Settings,
        *,
        api: bool,
        role: Role | None,
        started: Callable[[str | None], None],
        make_crew: MakeCrew | None = None,
    ) -> None:
        """Without `make_crew` it carries out the tasks of the app, if there is one."""
        self._settings = settings
        self._api = api
        self._role = role
        self._started = started
        self._clock: Clock = SystemClock()
        self._chance: Chance = SystemChance()
        self._node: Node | None = None
        self._worker: Worker | None = None
        """Of the life that the node has now."""
        self._app = load_app(settings.app) if settings.app and role not in (None, Role.SCHEDULER) else None
        self._make_crew = make_crew or crew_of(self._app, settings)
        self.first_key: FirstKey | None = None
        """What this start made, as there was none before."""
        self.key_path: Path | None = None
        """Where commands on this machine find a key."""

    async def run(self) -> None:
        raise_descriptor_limit()
        stop = Stop()
        stop.on_signals()
        store = make_store(self._settings.db, self._clock)
        if not await _open(store, stop, wait=not is_embedded(self._settings.db)):
            return
        try:
            await store.migrate()
            await store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
            await self._run_roles(store, stop)
        finally:
            await store.close()

    async def _run_roles(self, store: Store, stop: Stop) -> None:
        """All that can be refused is refused before the node joins: a start that fails says one thing, and nobody saw it."""
        prepared = await self._prepare_api(store, stop) if self._api else None
        server = prepared.server if prepared else hold_health(self._vitals(store, stop), self._settings)
        tasks: list[asyncio.Task[None]] = []
        if self._role is not None:
            self._node = self._make_node(store)
            tasks.append(asyncio.create_task(self._node.run(stop)))
        if prepared:
            tasks.append(asyncio.create_task(_until_stopped(Loop("time", prepared.keeper.step), stop)))
        try:
            if server:
                await server.start()
            if prepared:
                self.key_path = await keep(prepared.keyring, self._settings, prepared.server.port, self.first_key)
            _spare_what_stays()
            self._started(server.url if server else None)
            asked = asyncio.create_task(stop.asked.wait())
            done, _ = await asyncio.wait([asked, *tasks], return_when=asyncio.FIRST_COMPLETED)
            stop.asked.set()
            if server and self._api:
                await server.stop()
            for task in done - {asked}:
                task.result()
        finally:
            stop.asked.set()
            try:
                await asyncio.gather(*tasks)
            finally:
                if server:
                    await server.stop()

    def _make_node(self, store: Store) -> Node:
        scheduling = SchedulerOptions(
            recovery=RecoveryMode(self._settings.recovery),
            recovery_rate=self._settings.recovery_rate,
            history_days=self._settings.history_days,
            finished_job_days=self._settings.finished_job_days,
        )
        return Node(
            store,
            self._clock,
            self._chance,
            new_node=self._new_node,
            parts=self._parts(store),
            scheduling=scheduling,
        )

    async def _prepare_api(self, store: Store, stop: Stop) -> _Prepared:
        """Everything up to answering. The port is taken before the first key is made, which is shown only once."""
        keeper = Timekeeper(store, self._clock)
        await keeper.step()

        async def ready() -> None:
            if stop.asked.is_set():
                raise StoreUnavailable("the process is stopping")
            await surface.insights.store_is_there()

        surface = make_surface(
            store,
            lambda: keeper.time,
            self._clock,
            self._chance,
            ready=ready,
            tallies=lambda: self._tallies(fenced=surface.desk.fenced_total),
            payload_bytes_max=self._settings.payload_bytes_max,
        )
        server = ApiServer(make_app(surface), self._settings.host, self._settings.port, stopping=surface.close)
        server.hold()
        try:
            self.first_key = await first_key(surface.keyring, self._settings)
        except DuelineError:
            await server.stop()
            raise
        return _Prepared(server, keeper, surface.keyring)

    def _vitals(self, store: Store, stop: Stop) -> Vitals:
        async def ready() -> None:
            if stop.asked.is_set() or self._node is None or not self._node.trusted:
                raise StoreUnavailable("the process is stopping, or not a member")
            await store.now_ms()

        return Vitals(ready=ready, tallies=self._tallies)

    def _tallies(self, *, fenced: int = 0) -> Tallies:
        """What the parts of this process counted, and `fenced` besides."""
        worker, node = self._worker, self._node
        return Tallies(
            fenced=fenced + (worker.fenced_total if worker else 0),
            leases_lost=node.leases_lost if node else 0,
            attempts=worker.attempts_total if worker else {},
        )

    def _new_node(self) -> NewNode:
        assert self._role is not None
        works = self._role is not Role.SCHEDULER
        return NewNode(
            boot_id=BootId(self._chance.entropy().hex()),
            role=self._role,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            queues=self._settings.queues if works else (),
            labels=labels_of(self._settings, self._app) if works else (),
            tasks=() if self._app is None else tuple(sorted(self._app.tasks)),
            slots=self._settings.slots if works else 0,
        )

    def _parts(self, store: Store) -> list[Callable[[Membership, Definitions], Worker]]:
        if self._role is Role.SCHEDULER:
            return []
        settings = self._settings
        options = worker_options(settings, self._app)
        keys_of = Secrets(store, self._clock).keys_of

        def make_worker(membership: Membership, definitions: Definitions) -> Worker:
            self._worker = Worker(
                store,
                membership,
                definitions,
                self._clock,
                self._chance,
                options,
                keys_of=keys_of,
                make_executor=executor_of(target_policy(settings, self._role)),
                make_crew=self._make_crew,
                offers=None if self._app is None else Offers(store, self._app),
            )
            return self._worker

        return [make_worker]


def hold_health(vitals: Vitals, settings: Settings) -> ApiServer | None:
    """What tells how a process without the API is, if there is a port for that. The port is taken, and nobody is answered yet."""
    if not settings.health_port:
        return None
    server = ApiServer(make_health_app(vitals), settings.host, settings.health_port)
    server.hold()
    return server


def labels_of(settings: Settings, app: App | None) -> tuple[str, ...]:
    return settings.labels if app is None else tuple(sorted({*settings.labels, TASK}))


def worker_options(settings: Settings, app: App | None) -> WorkerOptions:
    return WorkerOptions(
        queues=settings.queues,
        labels=labels_of(settings, app),
        slots=settings.slots,
        drain_s=settings.drain_s,
        host_share=settings.host_share,
    )


def crew_of(app: App | None, settings: Settings) -> MakeCrew | None:
    """What carries out the tasks of an app."""
    if app is None:
        return None
    return partial(TaskExecutor, app=app, threads=settings.threads, processes=settings.processes)


def executor_of(policy: AddressPolicy) -> MakeExecutor:
    """What makes HTTP calls, to the addresses that it may."""
    return partial(HttpExecutor, judge_address=partial(judge, policy=policy))


def target_policy(settings: Settings, role: Role | None) -> AddressPolicy:
    """Which addresses the runs of this process may call.

    Unless told otherwise, private ones only where whoever can make a job is on this machine, and so is everything that executes it.
    """
    private = settings.private_targets == "allow"
    if settings.private_targets == "auto":
        private = role is Role.ALL and is_embedded(settings.db) and is_loopback(settings.host)
    return AddressPolicy(private=private, allow=settings.target_allow, deny=settings.target_deny)


def _spare_what_stays() -> None:
    """All that a process is made of is there when it has started. Whatever comes in bulk later makes the collector of cycles look through
    everything, which took a third of the time of a call for 10,000 runs; so it need not look at that again."""
    gc.collect()
    gc.freeze()


async def _open(store: Store, stop: Stop, *, wait: bool) -> bool:
    """Open the store, waiting for a server that is away; False when asked to stop meanwhile."""
    waiting = False
    while not stop.asked.is_set():
        try:
            await store.open()
            return True
        except StoreUnavailable as error:
            if not wait:
                raise
            if not waiting:
                log.warning("waiting for the store", reason=str(error))
            waiting = True
            await asyncio.sleep(AWAY_S)
    return False


async def _until_stopped(loop: Loop, stop: Stop) -> None:
    running = asyncio.create_task(loop.run())
    await stop.asked.wait()
    loop.stop()
    await running
