"""What a worker's app offers, told to the store so that people find it."""

from __future__ import annotations

from dueline.domain import limits
from dueline.store.fleet import JobType, JobTypeStore
from dueline.tasks.app import App
from dueline.wire.reading import encode


class Offers:
    def __init__(self, store: JobTypeStore, app: App) -> None:
        self._store = store
        self._types = job_types(app)

    async def step(self) -> float:
        """Say what there is, again and again: what nobody says is forgotten in time."""
        await self._store.publish_job_types(self._types, keep_ms=limits.JOB_TYPES_KEPT_MS)
        return limits.JOB_TYPES_TOLD_S


def job_types(app: App) -> list[JobType]:
    """Its tasks, by name."""
    return [_job_type(app, name) for name in sorted(app.tasks)]


def _job_type(app: App, name: str) -> JobType:
    task = app.tasks[name]
    schema = task.schema()
    description = schema.pop("description", None)
    return JobType(name=name, queue=task.options.queue, parameters=encode(schema).decode(), description=description)
