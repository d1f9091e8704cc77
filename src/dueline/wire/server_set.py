"""What the server sets of a job, in a body that writes one. As the job has it, it says nothing, so what was read can be sent back."""

from __future__ import annotations

from typing import Any

from dueline.domain.job import Job
from dueline.wire.jobs import JobInput, job_view
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_fast, read_value

Said = dict[str, Any]
"""Fields that are not for people to write, by name, with what somebody wrote."""


def split(value: Any) -> tuple[Any, Said]:
    """What somebody wrote, without what the server sets; and that."""
    if not isinstance(value, dict):
        return value, {}
    said = {name: value[name] for name in value if name in JobInput.READ_ONLY}
    return {name: inner for name, inner in value.items() if name not in said}, said


def read_written(raw: bytes, problems: Problems) -> tuple[JobInput, Said]:
    """A whole job from its bytes, at full speed where it has nothing that the server sets."""
    asked = read_fast(raw, JobInput)
    if asked is not None:
        return asked, {}
    value, said = split(decode(raw))
    return read_value(value, JobInput, problems), said


def check_said(said: Said, job: Job | None, problems: Problems) -> None:
    """Tell what is not as the job has it. A new job has none of it yet."""
    if not said:
        return
    has: Said = {} if job is None else decode(encode(job_view(job)))
    for name, value in said.items():
        if name not in has:
            problems.add(name, "is set by Dueline and cannot be written")
        elif value != has[name]:
            problems.add(name, f"is set by Dueline, and is {_text(has[name])} now: leave it out")


def _text(value: Any) -> str:
    return encode(value).decode()[:100]
