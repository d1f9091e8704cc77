"""`manage.py sync_jobs`: have Dueline know the jobs of bookshop/jobs.py as they are there, and no others of this project."""

from typing import Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser

from bookshop.jobs import JOBS, OWNER
from dueline import Client
from dueline.sdk.errors import DuelineError
from dueline.sdk.models import JobView

MOVING = ("version", "next_due_at", "updated_at")
"""What a job has of its own, and nobody declares."""


class Command(BaseCommand):
    help = "Create, update and delete Dueline's jobs so that they are those of bookshop/jobs.py."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only tell what would be done")

    def handle(self, *_: Any, dry_run: bool, **__: Any) -> None:
        try:
            with Client() as client:
                there = {job.name: job for job in client.jobs.list(tag=OWNER)}
                for declared in JOBS:
                    name = declared["name"]
                    self.tell(put(client, declared, there.pop(name, None), dry_run=dry_run), name)
                for name, job in there.items():
                    if not dry_run:
                        client.jobs.delete(job.id, if_version=job.version)
                    self.tell("deleted", name)
        except DuelineError as error:
            raise CommandError(str(error)) from error

    def tell(self, done: str, name: str) -> None:
        self.stdout.write(f"{done:9} {name}")


def put(client: Client, declared: dict[str, Any], there: JobView | None, *, dry_run: bool) -> str:
    """Create a job, or update the one that is there if that makes a difference. One that somebody changes at the same time is left alone:
    VersionMismatch."""
    job = {**declared, "tags": [OWNER]}
    if there is None:
        client.jobs.create(job, dry_run=dry_run)
        return "created"
    becoming = client.jobs.update(there.id, job, if_version=there.version, dry_run=True)
    if lasting(becoming) == lasting(there):
        return "unchanged"
    if not dry_run:
        client.jobs.update(there.id, job, if_version=there.version)
    return "updated"


def lasting(job: JobView) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(job).items() if name not in MOVING}
