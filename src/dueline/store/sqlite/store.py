"""The SQLite store, put together."""

from __future__ import annotations

from os import PathLike, fspath

from dueline.runtime.clock import Clock
from dueline.store.protocol import WakeUp
from dueline.store.sqlite.access import KeyPart
from dueline.store.sqlite.calendars import CalendarPart
from dueline.store.sqlite.cancels import CancelPart
from dueline.store.sqlite.changes import ChangePart
from dueline.store.sqlite.database import Database
from dueline.store.sqlite.deadletters import DeadLetterPart
from dueline.store.sqlite.events import EventPart
from dueline.store.sqlite.flows import FlowPart
from dueline.store.sqlite.gates import GatePart
from dueline.store.sqlite.history import HistoryPart
from dueline.store.sqlite.jobs import JobPart
from dueline.store.sqlite.jobtypes import JobTypePart
from dueline.store.sqlite.leases import LeasePart
from dueline.store.sqlite.ledger import LedgerPart
from dueline.store.sqlite.limits import LimitPart
from dueline.store.sqlite.members import MemberPart
from dueline.store.sqlite.noticing import NoticePart
from dueline.store.sqlite.plans import PlanPart
from dueline.store.sqlite.progress import ProgressPart
from dueline.store.sqlite.queues import QueuePart
from dueline.store.sqlite.reads import ReadPart
from dueline.store.sqlite.recovery import RecoveryPart
from dueline.store.sqlite.requests import RequestPart
from dueline.store.sqlite.retentions import RetentionPart
from dueline.store.sqlite.runs import RunPart
from dueline.store.sqlite.schema import SchemaPart, inspect, settle
from dueline.store.sqlite.secrets import SecretPart
from dueline.store.sqlite.strays import StrayPart
from dueline.store.sqlite.tenants import TenantPart
from dueline.store.sqlite.uniques import UniquePart
from dueline.store.sqlite.upkeep import UpkeepPart


class SqliteStore(
    SchemaPart,
    JobPart,
    ChangePart,
    PlanPart,
    RunPart,
    UniquePart,
    FlowPart,
    GatePart,
    LimitPart,
    CancelPart,
    ProgressPart,
    RecoveryPart,
    StrayPart,
    QueuePart,
    DeadLetterPart,
    MemberPart,
    LeasePart,
    ReadPart,
    LedgerPart,
    SecretPart,
    KeyPart,
    RequestPart,
    TenantPart,
    JobTypePart,
    CalendarPart,
    HistoryPart,
    RetentionPart,
    EventPart,
    NoticePart,
    UpkeepPart,
):
    """One process owns the file; `clock` is the store's clock. The path `:memory:` keeps everything in memory.

    `inline`: no threads. Every call takes effect before it returns, so that a simulation is the same every time.
    """

    def __init__(self, path: str | PathLike[str], clock: Clock, *, inline: bool = False) -> None:
        super().__init__(Database(fspath(path), clock, inline=inline))

    async def open(self) -> None:
        """Take the file, or raise StoreUnavailable, or SchemaRefused when it is not ours to take. An empty file is to be migrated."""
        await self._database.open(inspect, settle)

    async def close(self) -> None:
        await self._database.close()

    def listen(self, wake: WakeUp) -> None:
        self._database.listen(wake)
