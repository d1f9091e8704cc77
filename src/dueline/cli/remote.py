"""`dueline worker --server`: a worker that works through the API of a server."""

from __future__ import annotations

import os
import socket

from dueline import __version__
from dueline.api.routes import Vitals
from dueline.cli.process import crew_of, executor_of, hold_health, target_policy, worker_options
from dueline.config import Settings
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.runtime.descriptors import raise_descriptor_limit
from dueline.runtime.keyfiles import find_key
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.tasks.loading import load_app
from dueline.worker.offers import job_types
from dueline.worker.remote.client import DeskClient
from dueline.worker.remote.worker import RemoteNode

_WAIT_S = 20.0
"""How long the server may hold a question for runs: within the patience of proxies."""


class RemoteProcess:
    """With an app it carries out tasks, without one it makes HTTP calls. Raises Invalid when the app cannot be loaded."""

    def __init__(self, settings: Settings, url: str) -> None:
        self._settings = settings
        self._url = url
        self._app = load_app(settings.app) if settings.app else None

    async def run(self) -> None:
        raise_descriptor_limit()
        stop = Stop()
        stop.on_signals()
        node = RemoteNode(
            self._client,
            SystemClock(),
            SystemChance(),
            worker_options(self._settings, self._app),
            new_node=self._new_node,
            make_executor=executor_of(target_policy(self._settings, Role.WORKER)),
            make_crew=crew_of(self._app, self._settings),
        )

        async def ready() -> None:
            if stop.asked.is_set() or not node.trusted:
                raise StoreUnavailable("the process is stopping, or not a member")

        server = hold_health(Vitals(ready=ready, tallies=node.tallies), self._settings)
        try:
            if server:
                await server.start()
            await node.run(stop)
        finally:
            if server:
                await server.stop()

    def _client(self) -> DeskClient:
        types = [] if self._app is None else job_types(self._app)
        api_key = self._settings.api_key or find_key(self._settings.key_dir, self._url)
        return DeskClient(self._url, api_key=api_key, types=types, wait_s=_WAIT_S)

    def _new_node(self) -> NewNode:
        return NewNode(
            boot_id=BootId(""),  # The server gives it.
            role=Role.WORKER,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            queues=self._settings.queues,
            labels=self._settings.labels,
            slots=self._settings.slots,
        )
