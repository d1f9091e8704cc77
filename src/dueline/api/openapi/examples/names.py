"""What the examples share: one job, one run of it, one worker, one morning."""

from __future__ import annotations

from dueline.wire.schedules import ScheduleForm

JOB_ID = "job_01h455vb4pex5vsknk084sn02q"
RUN_ID = "run_01h455vb4pex5vsknk084sn02q"
WORKER_ID = "01h455vb4pex5vsknk084sn02q"
DUE = "2026-03-30T07:00:00.000Z"
STARTED = "2026-03-30T07:00:00.012Z"
ENDED = "2026-03-30T07:00:00.431Z"
CREATED = "2026-03-29T01:30:00.000Z"
SCHEDULE = ScheduleForm(cron="0 9 * * 1-5", timezone="Europe/Berlin")
