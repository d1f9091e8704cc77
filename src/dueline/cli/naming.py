"""What people may type in place of an id, and what the shell proposes: it asks the server, and gives up soon."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import typer

from dueline.cli.connecting import Choice, choose, connect, read_key
from dueline.cli.profile_file import read_profiles
from dueline.config import profile_file
from dueline.domain.errors import DuelineError, NotFound
from dueline.domain.events import EventType
from dueline.domain.states import JobState, RunState
from dueline.domain.texts import CONTROL

COMPLETION_S_MAX = 1.0
"""How long a shell waits for the server after a Tab: whoever types does not wait for longer."""
PROPOSED_MAX = 50
_JOB_ID = re.compile(r"job_[0-9a-z]{26}")


def job_id_of(context: typer.Context, said: str | None) -> str | None:
    """The id of the job that is meant, by its id or by its name. Raises NotFound when no living job has the name."""
    if said is None or context.resilient_parsing or _JOB_ID.fullmatch(said):
        return said
    with connect() as client:
        # In the order of names the one that is all of the prefix comes first.
        found = client.jobs.list(name_prefix=said, page_size=1).page()["items"] if _can_be_a_name(said) else []
    if not found or found[0]["name"] != said:
        raise NotFound("job", CONTROL.sub("?", said))
    job_id: str = found[0]["id"]
    return job_id


def job_id_of_its_runs(context: typer.Context, said: str | None) -> str | None:
    """The same where things are looked for that a job leaves behind when it is deleted."""
    try:
        return job_id_of(context, said)
    except NotFound as missing:
        hint = "what a deleted one left is found by its id, as --output json tells it"
        raise NotFound("job", f"{CONTROL.sub('?', said or '')}; {hint}") from missing


def propose_jobs(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Names of jobs that begin so, each with its id; or none when the server does not answer at once. No Tab ends in an error."""
    with suppress(DuelineError, ValueError):
        _choose_as(context)
        with connect(timeout_s=COMPLETION_S_MAX) as client:
            page = client.jobs.list(name_prefix=incomplete or None, page_size=PROPOSED_MAX).page()
        return [(job["name"], job["id"]) for job in page["items"] if _is_simple(job["name"])]
    return []


def propose_queues(context: typer.Context, incomplete: str) -> list[str]:
    """Names of queues that begin so, or none when the server does not answer at once."""
    with suppress(DuelineError, ValueError):
        _choose_as(context)
        with connect(timeout_s=COMPLETION_S_MAX) as client:
            queues = client.queues.list().page()["items"]
        return [queue["name"] for queue in queues if queue["name"].startswith(incomplete)][:PROPOSED_MAX]
    return []


def propose_run_states(incomplete: str) -> list[str]:
    return [state for state in RunState if state.startswith(incomplete)]


def propose_job_states(incomplete: str) -> list[str]:
    return [state for state in JobState if state.startswith(incomplete)]


def propose_event_types(incomplete: str) -> list[str]:
    return [kind for kind in EventType if kind.startswith(incomplete)]


def propose_profiles(incomplete: str) -> list[str]:
    with suppress(DuelineError):
        return sorted(name for name in read_profiles(profile_file()).servers if name.startswith(incomplete))
    return []


def _choose_as(context: typer.Context) -> None:
    """The server that stands before the command. A shell that completes does not run what would choose it."""
    said = context.find_root().params
    path = said.get("api_key_file")
    key = None if path is None or str(path) == "-" else read_key(Path(path))
    choose(Choice(said.get("profile"), said.get("server"), key))


def _can_be_a_name(said: str) -> bool:
    return bool(said) and not CONTROL.search(said)


def _is_simple(name: str) -> bool:
    """Whether a shell takes it for one word. Others can be typed in quotes."""
    return bool(re.fullmatch(r"[\w.@%+=/-]+", name))
