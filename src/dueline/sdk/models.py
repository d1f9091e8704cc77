"""The shapes of answers, by the names that programs annotate with: `from dueline.sdk.models import JobView, RunView`.

All of them are frozen structs with attributes. Instants are RFC 3339 text, which `datetime.fromisoformat` reads, and durations
ISO 8601; both can be given to any method as they are. A server that is newer than the program may use words that are not among the
members of an enum: they stay text.
"""

from __future__ import annotations

from dueline.domain.access import KeyRole
from dueline.domain.events import EventType
from dueline.domain.ledger import Verdict
from dueline.domain.run import OutcomeKind
from dueline.domain.states import JobState, RunKind, RunState
from dueline.wire.audits import AuditView
from dueline.wire.backfills import BackfillItem, BackfillView
from dueline.wire.bulk import BulkJobsView, BulkRunsView, JobItem, RunItem, RunRef
from dueline.wire.calendars import CalendarView
from dueline.wire.deadletters import BulkRedriveView, DeadLetterView, ExecutedView, PurgeView
from dueline.wire.desk import AcceptedView, HeartbeatView, LeasedView, LeaseView, RegisteredView
from dueline.wire.events import AttemptEventView, EventView, JobEventView, RunEventView
from dueline.wire.forecasts import ForecastView
from dueline.wire.health import Health
from dueline.wire.jobs import JobView
from dueline.wire.jobtypes import JobTypeView
from dueline.wire.keys import CallerView, KeyView, NewKeyView
from dueline.wire.limits import LimitView
from dueline.wire.notices import NotifyForm
from dueline.wire.occurrences import OccurrenceView
from dueline.wire.pages import Page
from dueline.wire.policies import MisfireForm, RetryForm
from dueline.wire.previews import FireView, PreviewView
from dueline.wire.problems import FieldProblem, Problem
from dueline.wire.queues import QueueView
from dueline.wire.recoveries import RecoveryView
from dueline.wire.runs import AttemptView, RunView
from dueline.wire.schedules import ScheduleForm
from dueline.wire.secrets import NewSecretView, SecretView
from dueline.wire.targets import HttpTargetForm, TargetView, TaskTargetForm
from dueline.wire.tenants import QuotasForm, TenantView, UsedView
from dueline.wire.upcoming import UpcomingView
from dueline.wire.versions import ChangeView, DefinitionView, DiffView, VersionView
from dueline.wire.whys import JobWhyView, SharesView, TenantShareView, WhyView
from dueline.wire.workers import WorkerState, WorkerView

__all__ = [
    "AcceptedView",
    "AttemptEventView",
    "AttemptView",
    "AuditView",
    "BackfillItem",
    "BackfillView",
    "BulkJobsView",
    "BulkRedriveView",
    "BulkRunsView",
    "CalendarView",
    "CallerView",
    "ChangeView",
    "DeadLetterView",
    "DefinitionView",
    "DiffView",
    "EventType",
    "EventView",
    "ExecutedView",
    "FieldProblem",
    "FireView",
    "ForecastView",
    "Health",
    "HeartbeatView",
    "HttpTargetForm",
    "JobEventView",
    "JobItem",
    "JobState",
    "JobTypeView",
    "JobView",
    "JobWhyView",
    "KeyRole",
    "KeyView",
    "LeaseView",
    "LeasedView",
    "LimitView",
    "MisfireForm",
    "NewKeyView",
    "NewSecretView",
    "NotifyForm",
    "OccurrenceView",
    "OutcomeKind",
    "Page",
    "PreviewView",
    "Problem",
    "PurgeView",
    "QueueView",
    "QuotasForm",
    "RecoveryView",
    "RegisteredView",
    "RetryForm",
    "RunEventView",
    "RunItem",
    "RunKind",
    "RunRef",
    "RunState",
    "RunView",
    "ScheduleForm",
    "SecretView",
    "SharesView",
    "TargetView",
    "TaskTargetForm",
    "TenantShareView",
    "TenantView",
    "UpcomingView",
    "UsedView",
    "Verdict",
    "VersionView",
    "WhyView",
    "WorkerState",
    "WorkerView",
]
