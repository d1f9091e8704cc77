"""Answers about versions of jobs, and about jobs in few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.jobs import JOB
from dueline.api.openapi.examples.names import CREATED, DUE, JOB_ID
from dueline.domain.states import JobState
from dueline.wire.schedules import ScheduleForm
from dueline.wire.simple import Frequency, SimpleJobView
from dueline.wire.versions import ChangeView, DefinitionView, DiffView, VersionView

_DEFINITION = DefinitionView(**{name: getattr(JOB, name) for name in DefinitionView.__struct_fields__})

ANSWERS: Mapping[Any, Any] = {
    VersionView: VersionView(job_id=JOB_ID, version=1, current=True, created_at=CREATED, definition=_DEFINITION),
    DiffView: DiffView(
        job_id=JOB_ID,
        version=3,
        against=2,
        changes=[
            ChangeView(path="schedule.cron", before="0 9 * * *", after="0 8 * * *"),
            ChangeView(path="schedule.jitter", after="PT30S"),
        ],
    ),
    SimpleJobView: SimpleJobView(
        job_id=JOB_ID,
        name="morning-report",
        job_type="report",
        payload={"day": "today"},
        frequency=Frequency.RECURRING,
        schedule=ScheduleForm(cron="30 9 * * MON-FRI"),
        status=JobState.ACTIVE,
        next_due_at=DUE,
        created_at=CREATED,
        updated_at=CREATED,
    ),
}
