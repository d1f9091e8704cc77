"""Definitions and attempts as the text a row keeps, and rows as the shapes a caller gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Definition, Job
from dueline.domain.run import Attempt, Run
from dueline.domain.states import JobState, RunKind, RunState

TAG_SEPARATOR = "\x1f"
"""Tags travel in one text; control characters are refused in tags."""

_encoder = msgspec.json.Encoder()
_definition = msgspec.json.Decoder(Definition)
_attempts = msgspec.json.Decoder(tuple[Attempt, ...])


def encode_definition(definition: Definition) -> str:
    return _encoder.encode(definition).decode()


def decode_definition(text: str) -> Definition:
    return _definition.decode(text)


def encode_attempt(attempt: Attempt) -> str:
    """One attempt. A run's attempts are these, joined by commas, so that a statement can append one."""
    return _encoder.encode(attempt).decode()


def decode_attempts(text: str) -> tuple[Attempt, ...]:
    return _attempts.decode(f"[{text}]")


def join_tags(tags: Sequence[str]) -> str:
    return TAG_SEPARATOR.join(tags)


def to_job(row: Any) -> Job:
    """id, tenant, state, version, definition, next_ms, pause_note, created_ms, updated_ms."""
    return Job(
        id=JobId(row[0]),
        tenant=row[1],
        state=JobState(row[2]),
        version=row[3],
        definition=decode_definition(row[4]),
        next_ms=row[5],
        pause_note=row[6],
        created_ms=row[7],
        updated_ms=row[8],
    )


def to_run(row: Any, tags: tuple[str, ...]) -> Run:
    """The columns of a run in the order of `reads.sql`; tags are read by the store, which keeps them in its own way."""
    return Run(
        id=RunId(row[0]),
        job_id=None if row[1] is None else JobId(row[1]),
        version=row[2],
        tenant=row[3],
        kind=RunKind(row[4]),
        state=RunState(row[5]),
        queue=row[6],
        priority=row[7],
        tags=tags,
        scheduled_ms=row[9],
        due_ms=row[10],
        created_ms=row[11],
        claimed_ms=row[12],
        started_ms=row[13],
        finished_ms=row[14],
        attempt=row[15],
        lost=row[16],
        worker=row[17],
        reason=row[18],
        parent_id=None if row[19] is None else RunId(row[19]),
        attempts=decode_attempts(row[20]),
    )


def target_type(definition: Definition) -> str:
    """`http` or `task`: the tag of the target, for filters."""
    return str(type(definition.execution.target).__struct_config__.tag)
