"""`dueline serve`, `api`, `scheduler` and `worker`: the processes of Dueline."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dueline.cli.connecting import client_settings
from dueline.config import Settings, checked_url, load_settings
from dueline.domain.errors import DuelineError, Invalid
from dueline.runtime.log import set_up_log
from dueline.store.fleet import Role
from dueline.store.opening import is_embedded

if TYPE_CHECKING:
    from dueline.cli.process import Process

Db = Annotated[str | None, typer.Option(help="A file path, sqlite:///path, or postgresql://… [DUELINE_DB]")]
Host = Annotated[str | None, typer.Option(help="The address to listen on [DUELINE_HOST]")]
Port = Annotated[int | None, typer.Option(help="The port to listen on; 0 takes a free one [DUELINE_PORT]")]
HealthPort = Annotated[
    int | None, typer.Option(help="The port for /livez, /readyz and /metrics; 0: none [DUELINE_HEALTH_PORT]")
]
Queues = Annotated[
    list[str] | None,
    typer.Option(
        "--queues", "--queue", help="Queues to serve, such as a,b; may be repeated. Default: all [DUELINE_QUEUES]"
    ),
]
Slots = Annotated[int | None, typer.Option(help="Runs held or executed at a time [DUELINE_SLOTS]")]
App = Annotated[str | None, typer.Option(help="Whose tasks to carry out, as module:app [DUELINE_APP]")]
Threads = Annotated[int | None, typer.Option(help="Plain functions that run at a time [DUELINE_THREADS]")]
Processes = Annotated[
    int | None, typer.Option(help="Run plain functions in so many processes instead of threads [DUELINE_PROCESSES]")
]
Server = Annotated[str | None, typer.Option(help="Work through the API of this server, without a database connection")]
Key = Annotated[str | None, typer.Option(help="The API key for --server [DUELINE_API_KEY]")]

_SWITCH_S = 0.0005
_PRIVATE_ALLOWED = "Its runs may call this machine and private networks, as private_targets = allow says."
_PRIVATE_AUTO = (
    "Its runs may call this machine and private networks, because nobody else reaches the API. "
    "DUELINE_PRIVATE_TARGETS=deny changes that."
)


def register(app: typer.Typer) -> None:
    """Add the commands that start a process."""
    app.command()(serve)
    app.command()(api)
    app.command()(scheduler)
    app.command()(worker)


def serve(
    db: Db = None,
    host: Host = None,
    port: Port = None,
    queues: Queues = None,
    slots: Slots = None,
    app: App = None,
    threads: Threads = None,
    processes: Processes = None,
) -> None:
    """Run everything in one process: API, scheduler and worker.

    Example: dueline serve --app shop.tasks:app
    """
    settings = _settings(
        db=db, host=host, port=port, queues=queues, slots=slots, app=app, threads=threads, processes=processes
    )
    _run(settings, api=True, role=Role.ALL)


def api(db: Db = None, host: Host = None, port: Port = None) -> None:
    """Run the API alone; jobs are fired and executed by other processes on the same PostgreSQL."""
    _run(_settings(db=db, host=host, port=port), api=True, role=None)


def scheduler(db: Db = None, host: Host = None, health_port: HealthPort = None) -> None:
    """Run a scheduler alone: it fires what is due. Any number may run on one PostgreSQL."""
    _run(_settings(db=db, host=host, health_port=health_port), api=False, role=Role.SCHEDULER)


def worker(
    db: Db = None,
    host: Host = None,
    health_port: HealthPort = None,
    queues: Queues = None,
    slots: Slots = None,
    app: App = None,
    threads: Threads = None,
    processes: Processes = None,
    server: Server = None,
    key: Key = None,
) -> None:
    """Run a worker alone: it executes runs. Any number may run on one PostgreSQL, or through one server.

    Example: dueline worker --app shop.tasks:app --queues mail,reports --slots 100 --processes 4
    """
    settings = _settings(
        db=db,
        host=host,
        health_port=health_port,
        queues=queues,
        slots=slots,
        app=app,
        threads=threads,
        processes=processes,
        api_key=key,
    )
    if server is not None:
        if db is not None:
            raise Invalid(("server", "a worker has a server or a db, not both"))
        _run_remote(settings, server)
        return
    if key is not None:
        raise Invalid(("key", "goes with --server"))
    _run(settings, api=False, role=Role.WORKER)


def _settings(**flags: Any) -> Settings:
    return load_settings({name: value for name, value in flags.items() if value is not None})


def _run(settings: Settings, *, api: bool, role: Role | None) -> None:
    if role is not Role.ALL and is_embedded(settings.db):
        raise Invalid(
            ("db", "one role alone needs a store that processes share: --db postgresql://…, or use dueline serve")
        )
    # Imported here: the other commands must not wait for drivers and servers they do not need.
    import uvloop

    from dueline.cli.process import Process, target_policy

    set_up_log(level=settings.log_level, form=settings.log_form)

    def started(url: str | None) -> None:
        kept = f"in {settings.db}" if is_embedded(settings.db) else "in PostgreSQL"
        what = "Dueline" if role is Role.ALL else f"Dueline's {role or 'API'}"
        where = f" at {url}" if url and api else ""
        typer.echo(f"{what} is running{where}, with its jobs {kept}. Stop it with Ctrl-C.")
        if role in (Role.ALL, Role.WORKER) and target_policy(settings, role).private:
            typer.echo(_PRIVATE_AUTO if settings.private_targets == "auto" else _PRIVATE_ALLOWED)
        if url and not api:
            _tell_health(settings)
        if url and api:
            _tell_keys(process, url)

    # The embedded store works in threads of its own; a busy loop must not keep the interpreter from them for its usual 5 ms.
    sys.setswitchinterval(_SWITCH_S)
    process = Process(settings, api=api, role=role, started=started)
    uvloop.run(process.run())


def _tell_keys(process: Process, url: str) -> None:
    first, path = process.first_key, process.key_path
    command = _command_for(url)
    if first is not None and not first.given:
        typer.echo(f"This is its first start. Its admin key, shown only now: {first.text}")
    if path is None:
        typer.echo(f'Try: DUELINE_API_KEY=… {command} job list   or: curl -H "Authorization: Bearer …" {url}/v1/jobs')
        return
    if first is not None:
        typer.echo(f"It is kept in {path}, where the command dueline finds it.")
    typer.echo(f'Try: {command} job list   or: curl -H "Authorization: Bearer $(cat {path})" {url}/v1/jobs')


def _command_for(url: str) -> str:
    """The command that asks this server: what is shown must work as it stands there, also where commands would ask another."""
    with suppress(DuelineError):
        if client_settings().url == url:
            return "dueline"
    return f"dueline --server {url}"


def _run_remote(settings: Settings, url: str) -> None:
    import uvloop

    from dueline.cli.remote import RemoteProcess

    set_up_log(level=settings.log_level, form=settings.log_form)
    process = RemoteProcess(settings, checked_url(url))
    typer.echo(f"Dueline's worker is running, for {url}. Stop it with Ctrl-C.")
    if settings.health_port:
        _tell_health(settings)
    uvloop.run(process.run())


def _tell_health(settings: Settings) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = f"http://{host}:{settings.health_port}"
    typer.echo(f"Its health is at {where}/readyz, its metrics at {where}/metrics.")
