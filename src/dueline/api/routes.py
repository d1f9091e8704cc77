"""What a route is: one row that says all there is to know about it, so that the app and the OpenAPI document need nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.domain import limits
from dueline.domain.access import KeyRole
from dueline.engine.audits import Auditor
from dueline.engine.backfills import Backfills
from dueline.engine.calendars import CalendarDesk
from dueline.engine.deadletters import DeadLetters
from dueline.engine.desk import Desk
from dueline.engine.events import Events
from dueline.engine.execution.secrets import Secrets
from dueline.engine.fleet import Fleet
from dueline.engine.forecasts import Forecasts
from dueline.engine.insights import Insights
from dueline.engine.jobtypes import JobTypes
from dueline.engine.jobwhys import JobWhys
from dueline.engine.keyring import Keyring
from dueline.engine.ledgers import Ledgers
from dueline.engine.limiting import LimitDesk
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.recoveries import Recoveries
from dueline.engine.requests import Requests
from dueline.engine.retries import Retries
from dueline.engine.shares import Shares
from dueline.engine.signing import SigningDesk
from dueline.engine.tallies import Tallies
from dueline.engine.tenants import Tenants
from dueline.engine.upcoming import Upcoming
from dueline.engine.whys import Whys
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock, StoreTime
from dueline.store.protocol import Store


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """What a process tells of itself, whether it serves the API or not."""

    ready: Callable[[], Awaitable[None]]
    """Returns when the process can do its work; raises a DuelineError when the store is away or the process is stopping."""
    tallies: Callable[[], Tallies]
    """What this process counted."""


class Surface(Vitals, frozen=True, kw_only=True):
    """What handlers work with."""

    operations: Operations
    insights: Insights
    ledgers: Ledgers
    auditor: Auditor
    backfills: Backfills
    recoveries: Recoveries
    forecasts: Forecasts
    upcoming: Upcoming
    calendars: CalendarDesk
    dead_letters: DeadLetters
    retries: Retries
    fleet: Fleet
    whys: Whys
    job_whys: JobWhys
    shares: Shares
    limiting: LimitDesk
    job_types: JobTypes
    signing: SigningDesk
    tenants: Tenants
    desk: Desk
    requests: Requests
    keyring: Keyring
    events: Events
    payload_bytes_max: int = limits.PAYLOAD_BYTES_MAX

    def close(self) -> None:
        """Let nobody wait any longer: the server is about to stop."""
        self.desk.close()
        self.events.close()


def make_surface(
    store: Store,
    time: Callable[[], StoreTime],
    clock: Clock,
    chance: Chance,
    *,
    ready: Callable[[], Awaitable[None]],
    tallies: Callable[[], Tallies] = Tallies,
    payload_bytes_max: int = limits.PAYLOAD_BYTES_MAX,
) -> Surface:
    """Everything that the API serves, on one store. `ready` returns when the process can serve, and raises a DuelineError when not."""
    ledgers, fleet = Ledgers(store, time), Fleet(store, time)
    quotas, whys = QuotaKeeper(store, clock), Whys(store, fleet, time)
    return Surface(
        operations=Operations(store, time, chance, quotas),
        insights=Insights(store, time),
        ledgers=ledgers,
        auditor=Auditor(store, ledgers),
        backfills=Backfills(store, time, quotas),
        recoveries=Recoveries(store, time),
        forecasts=Forecasts(store, time),
        upcoming=Upcoming(store, time),
        calendars=CalendarDesk(store),
        dead_letters=DeadLetters(store, time, quotas),
        retries=Retries(store, time, chance, quotas),
        fleet=fleet,
        whys=whys,
        job_whys=JobWhys(store, fleet, whys, time),
        shares=Shares(store, time),
        limiting=LimitDesk(store),
        job_types=JobTypes(store),
        signing=SigningDesk(store, chance),
        tenants=Tenants(store, quotas),
        desk=Desk(store, time, clock, chance, keys_of=Secrets(store, clock).keys_of),
        requests=Requests(store),
        keyring=Keyring(store, time, clock, chance),
        events=Events(store, time, clock),
        ready=ready,
        tallies=tallies,
        payload_bytes_max=payload_bytes_max,
    )


Handler = Callable[[Surface, Request], Awaitable[Response]]


_OF_A_JOB = ("/v1/jobs/{id}", "/v1/jobs/by-name/{name}", "/job/{id}", "/job/update")
"""Where paths begin that name one job, or whose body does."""


class ApiRoute(msgspec.Struct, frozen=True, kw_only=True):
    """`request` and `response` are the types of the bodies, None where there is none; `query` names the parameters."""

    method: str
    path: str
    handler: Handler
    summary: str
    request: Any = None
    response: Any = None
    status: int = 200
    query: tuple[str, ...] = ()
    repeatable: bool = False
    """Whether to do it again changes nothing more: so it may be, where it was not answered."""
    whole_path: bool = False
    """Whether the parameter at the end takes the rest of the path, slashes and all."""
    needs: KeyRole | None = None
    """The role that a key must have, if it is not a reader's to read and a writer's to change something."""
    is_open: bool = False
    """Whether it takes no key at all."""
    is_shared: bool = False
    """Whether it is about what all tenants share: only keys of the tenant that governs may."""
    without_store: bool = False
    """Whether it is answered while the store is away too, and so a key must do that was known before."""
    shows_once: bool = False
    """Whether the answer holds what nobody may see again, so that it is not kept to be given again."""

    @property
    def writes_job(self) -> bool:
        """Whether it changes one job, or makes runs of it: then it takes effect only at the version that If-Match names."""
        return self.method != "GET" and self.path.startswith(_OF_A_JOB)

    @property
    def puts_job(self) -> bool:
        """Whether it writes a whole job, and may be asked to replace none."""
        return self.method == "PUT" and self.writes_job and self.path.endswith("}")

    @property
    def role(self) -> KeyRole:
        return self.needs or (KeyRole.READER if self.method == "GET" else KeyRole.WRITER)
