"""The PostgreSQL store, put together."""

from __future__ import annotations

from dueline.store.postgres.access import KeyPart
from dueline.store.postgres.calendars import CalendarPart
from dueline.store.postgres.cancels import CancelPart
from dueline.store.postgres.changes import ChangePart
from dueline.store.postgres.database import Database
from dueline.store.postgres.deadletters import DeadLetterPart
from dueline.store.postgres.events import EventPart
from dueline.store.postgres.gates import GatePart
from dueline.store.postgres.history import HistoryPart
from dueline.store.postgres.jobs import JobPart
from dueline.store.postgres.jobtypes import JobTypePart
from dueline.store.postgres.leases import LeasePart
from dueline.store.postgres.ledger import LedgerPart
from dueline.store.postgres.limits import LimitPart
from dueline.store.postgres.members import MemberPart
from dueline.store.postgres.notices import Notices
from dueline.store.postgres.noticing import NoticePart
from dueline.store.postgres.plans import PlanPart
from dueline.store.postgres.progress import ProgressPart
from dueline.store.postgres.queues import QueuePart
from dueline.store.postgres.ranks import FlowPart, ReservedRanks
from dueline.store.postgres.reads import ReadPart
from dueline.store.postgres.recovery import RecoveryPart
from dueline.store.postgres.requests import RequestPart
from dueline.store.postgres.retentions import RetentionPart
from dueline.store.postgres.runs import RunPart
from dueline.store.postgres.schema import SchemaPart
from dueline.store.postgres.secrets import SecretPart
from dueline.store.postgres.strays import StrayPart
from dueline.store.postgres.tenants import TenantPart
from dueline.store.postgres.uniques import UniquePart
from dueline.store.postgres.upkeep import UpkeepPart
from dueline.store.protocol import WakeUp


class PostgresStore(
    SchemaPart,
    JobPart,
    ChangePart,
    PlanPart,
    RunPart,
    UniquePart,
    FlowPart,
    GatePart,
    LimitPart,
    ProgressPart,
    CancelPart,
    StrayPart,
    QueuePart,
    RecoveryPart,
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
    """Any number of processes may open the same database."""

    def __init__(self, dsn: str, *, connections_max: int = 8) -> None:
        database = Database(dsn, connections_max=connections_max)
        super().__init__(database, Notices(database), ReservedRanks(database))

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._notices.close()
        await self._database.close()

    def listen(self, wake: WakeUp) -> None:
        self._notices.listen(wake)
