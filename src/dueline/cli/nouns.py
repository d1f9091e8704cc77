"""The commands of `dueline`, a line each, and where they live. Only the one that is called is loaded.

The line of a noun is all that its help says. That of a command which stands alone is how its own help begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dueline.cli.later import Later


class Home(NamedTuple):
    """A module of `dueline.cli`, and what to say of a command before it is loaded."""

    module: str
    line: str


ALONE = {
    "serve": Home("roles", "Run everything in one process: API, scheduler and worker."),
    "api": Home("roles", "Run the API alone; jobs are fired and executed by other processes on the same PostgreSQL."),
    "scheduler": Home("roles", "Run a scheduler alone: it fires what is due."),
    "worker": Home("roles", "Run a worker alone: it executes runs."),
    "apply": Home(
        "applying",
        "Have the server's jobs be what files declare: create what is missing, update what differs, and with --prune delete the rest.",
    ),
    "export": Home("exporting", "Write jobs so that `dueline apply` of it changes nothing."),
    "audit": Home("audits", "Compare what schedules asked for with what became of it."),
    "upcoming": Home("upcoming", "List what comes between two instants, of all active jobs, earliest first."),
    "forecast": Home(
        "forecasts", "Show the load of the hours to come, the hottest minutes, and what would spread them."
    ),
    "doctor": Home("doctor", "Look for what is wrong with a server and its store, and say what to do."),
    "top": Home("top", "Show queues, processes and failures, drawn anew every two seconds."),
    "completion": Home("completing", "Print what a shell needs to complete commands, options and the names of jobs."),
}
"""Their modules have `register`, which adds them to an app."""

NOUNS = {
    "job": Home(
        "jobs",
        "Jobs: create, list, edit, pause, resume, run, cancel, delete; their versions, occurrences and backfills.",
    ),
    "run": Home("runs", "Runs: list them, look at one, end one, try one again, run something without a job."),
    "deadletter": Home(
        "deadletters", "Dead letters: failed runs that nobody has dealt with. Try them again, or put them aside."
    ),
    "event": Home("events", "Events: ends of runs and changes of jobs, as they happen."),
    "queue": Home("queues", "Queues: see what waits in them, pause and resume them."),
    "limit": Home(
        "limits", "Limits of queues and hosts: how many runs may be under way at once, how many may start in a time."
    ),
    "tenant": Home("tenants", "Tenants: their shares, what they may have and do, and what they have."),
    "node": Home("nodes", "Nodes: the processes that fire schedules and execute runs."),
    "jobtype": Home("jobtypes", "Job types: the tasks that workers can carry out."),
    "secret": Home("secrets", "The secret that calls to HTTP targets are signed with."),
    "key": Home("keys", "API keys: who may call the server, and what for."),
    "schedule": Home("schedules", "Schedules: what one means, before a job has it."),
    "calendar": Home("calendars", "Calendars: days on which the jobs that name them do not run."),
    "import": Home("moving", "Move in from another scheduler: its entries as jobs. Nothing is sent."),
    "recovery": Home("recoveries", "After an outage: what is overdue, and what becomes of it."),
    "db": Home("db", "The database: its schema and its migrations."),
    "config": Home("settings", "The settings of this machine."),
    "profile": Home("profiles", "Profiles: several servers, each by a name, with its key."),
}
"""Their modules have an `app` with their verbs."""


class Unloaded(TyperCommand):
    """Stands for a command wherever commands are listed."""

    def load(self) -> Any:
        """The command itself."""
        assert self.name is not None, "it was made with one"
        app = typer.Typer(rich_markup_mode=None)
        if self.name in NOUNS:
            module, line = NOUNS[self.name]
            app.add_typer(Later(f"dueline.cli.{module}").app, name=self.name, help=line, no_args_is_help=True)
        else:
            Later(f"dueline.cli.{ALONE[self.name].module}").register(app)
        return typer.main.get_group(app).commands[self.name]


class Commands(TyperGroup):
    """All of them: as lines to whoever lists them, and loaded for whoever calls one or completes its words."""

    def __init__(self, *, commands: dict[str, Any], **attributes: Any) -> None:
        unloaded = {
            name: Unloaded(name, help=home.line, rich_markup_mode=None) for name, home in (ALONE | NOUNS).items()
        }
        super().__init__(commands={**unloaded, **commands}, **attributes)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, Unloaded) else command, rest
