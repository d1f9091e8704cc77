"""Jobs by their names."""

from __future__ import annotations

from dueline.domain.job import Job
from dueline.store.names import Names
from dueline.store.protocol import JobStore
from dueline.store.shapes import JobFilter


async def job_named(store: JobStore, tenant: str, name: str) -> Job | None:
    """The living job that has a name. Of all whose names begin so it comes first."""
    found = await store.jobs_named(JobFilter(tenant=tenant), Names(name), limit=1)
    return found[0] if found and found[0].definition.name == name else None
