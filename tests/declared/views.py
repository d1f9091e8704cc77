"""Jobs as a server shows them, made without one."""

from typing import Any

from dueline.domain.ids import new_job_id
from dueline.domain.job import Job
from dueline.domain.planning import Position
from dueline.domain.states import JobState
from dueline.wire.jobs import JobInput, job_view, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_value

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z, a Thursday."""


def shown(version: int = 1, **fields: Any) -> dict[str, Any]:
    """A job that was written so, as the API shows it."""
    problems = Problems()
    asked = read_value({"target": {"url": "http://127.0.0.1:9/"}, **fields}, JobInput, problems)
    job_id = new_job_id(NOW_MS, b"0123456789")
    job = Job(
        id=job_id,
        tenant="default",
        state=JobState.ACTIVE,
        version=version,
        definition=to_definition(asked, problems, job_id=job_id, now_ms=NOW_MS),
        position=Position(),
        pause_note=None,
        created_ms=NOW_MS,
        updated_ms=NOW_MS,
        since_ms=NOW_MS,
    )
    view: dict[str, Any] = decode(encode(job_view(job)))
    return view
