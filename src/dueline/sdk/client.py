"""The clients: `Client` for threads, `PlainClient` for whoever passes JSON on as it is. `async_client` has the one for coroutines.

from dueline import Client

with Client() as client:
    run = client.runs.enqueue(url="https://example.com/hello")
    print(client.runs.wait(run.id).state)
"""

from __future__ import annotations

import copy
import re
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from dueline.config import load_settings
from dueline.runtime.chance import Chance, SystemChance
from dueline.runtime.clock import Clock, SystemClock
from dueline.runtime.keyfiles import find_key
from dueline.sdk.address import Address, read_address
from dueline.sdk.calls import Call
from dueline.sdk.drivers import PlainDriver, SyncDriver
from dueline.sdk.endpoints import D, Resource, composed
from dueline.sdk.flows import Operation, Terms
from dueline.sdk.pool import CONNECTIONS_MAX, Pool
from dueline.sdk.resources.calendars import Calendars
from dueline.sdk.resources.dead_letters import DeadLetters
from dueline.sdk.resources.desk import Desk
from dueline.sdk.resources.events import Events
from dueline.sdk.resources.health import Healths
from dueline.sdk.resources.job_types import JobTypes
from dueline.sdk.resources.jobs import Jobs
from dueline.sdk.resources.keys import Keys
from dueline.sdk.resources.limits import Limits
from dueline.sdk.resources.queues import Queues
from dueline.sdk.resources.reference import Reference
from dueline.sdk.resources.runs import Runs
from dueline.sdk.resources.schedules import Schedules
from dueline.sdk.resources.signing_secret import SigningSecret
from dueline.sdk.resources.tenants import Tenants
from dueline.sdk.resources.whole import Audits, Forecasts, Recovery, Upcoming
from dueline.sdk.resources.workers import Workers
from dueline.sdk.retries import RetryPolicy

TIMEOUT_S_DEFAULT = 30.0
RETRY_DEFAULT = RetryPolicy()

_KEY = re.compile(r"[!-~]*")
S = TypeVar("S", SyncDriver, PlainDriver)


class Resources(Resource[D]):
    """Everything that can be asked of a server, by what it is about."""

    def __init__(self, driver: D) -> None:
        super().__init__(driver)
        self.jobs = Jobs(driver)
        self.runs = Runs(driver)
        self.dead_letters = DeadLetters(driver)
        self.schedules = Schedules(driver)
        self.calendars = Calendars(driver)
        self.queues = Queues(driver)
        self.limits = Limits(driver)
        self.tenants = Tenants(driver)
        self.workers = Workers(driver)
        self.job_types = JobTypes(driver)
        self.signing_secret = SigningSecret(driver)
        self.keys = Keys(driver)
        self.events = Events(driver)
        self.audits = Audits(driver)
        self.recovery = Recovery(driver)
        self.upcoming = Upcoming(driver)
        self.forecasts = Forecasts(driver)
        self.health = Healths(driver)
        self.reference = Reference(driver)
        self.desk = Desk(driver)

    @composed
    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        if_version: int | None = None,
    ) -> Operation[Any]:
        """Any call that has no method of its own here: JSON in, JSON out. `path` begins with `/v1/`."""
        return (yield Call(body=body, query=query or {}, if_version=if_version, method=method, path=path))


class _Waiting(Resources[S]):
    """What clients for threads have in common."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.driver.pool.address.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept. A call after that opens another."""
        self.driver.pool.close()

    def interrupt(self) -> None:
        """Break off the calls that other threads wait for: each ends as Unreachable."""
        self.driver.pool.interrupt()

    def with_timeout(self, timeout_s: float) -> Self:
        """The same client with another time for each call, over the same connections: `client.with_timeout(2).jobs.get(…)`."""
        other = copy.copy(self)
        driver = type(self.driver)(self.driver.pool, msgspec.structs.replace(self.driver.terms, timeout_s=timeout_s))
        Resources.__init__(other, driver)
        return other


class Client(_Waiting[SyncDriver]):
    """One server, for any number of threads: `client.jobs`, `client.runs`, `client.dead_letters` and so on.

    A `url` and an `api_key` that are left out come from the settings: `DUELINE_URL` and `DUELINE_API_KEY`. `timeout_s` bounds each call
    with all its attempts; what failed in passing is tried again where that can do no harm. `tls` says whom to trust in place of the
    system's authorities.

    Every method raises an ApiError of `dueline.sdk.errors` when the server says no, and Unreachable when no answer comes.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S_DEFAULT,
        retry: RetryPolicy = RETRY_DEFAULT,
        connections_max: int = CONNECTIONS_MAX,
        tls: ssl.SSLContext | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        address, terms = prepared(
            url, api_key=api_key, timeout_s=timeout_s, retry=retry, tls=tls, clock=clock, chance=chance
        )
        super().__init__(SyncDriver(Pool(address, terms.clock, connections_max=connections_max), terms))

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """A client of the server in `DUELINE_URL`, with the key in `DUELINE_API_KEY`; `options` as for any other."""
        return cls(**options)


class PlainClient(_Waiting[PlainDriver]):
    """The same methods, and answers as plain JSON just as the server sent them, unknown fields included."""

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S_DEFAULT,
        retry: RetryPolicy = RETRY_DEFAULT,
    ) -> None:
        address, terms = prepared(url, api_key=api_key, timeout_s=timeout_s, retry=retry)
        super().__init__(PlainDriver(Pool(address, terms.clock), terms))


def prepared(
    url: str | None,
    *,
    api_key: str | None,
    timeout_s: float,
    retry: RetryPolicy,
    tls: ssl.SSLContext | None = None,
    clock: Clock | None = None,
    chance: Chance | None = None,
) -> tuple[Address, Terms]:
    """Where the server is, and on which terms it is called."""
    if url is None or api_key is None:
        settings = load_settings()
        url = settings.url if url is None else url
        if api_key is None:
            api_key = settings.api_key or find_key(settings.key_dir, url)
    if not _KEY.fullmatch(api_key or ""):
        raise ValueError("the api_key must be of printable ASCII letters, without spaces")
    if timeout_s <= 0:
        raise ValueError(f"timeout_s must be more than 0, and is {timeout_s}")
    terms = Terms(
        api_key=api_key,
        timeout_s=timeout_s,
        retry=retry,
        clock=clock or SystemClock(),
        chance=chance or SystemChance(),
    )
    return read_address(url, tls=tls), terms
