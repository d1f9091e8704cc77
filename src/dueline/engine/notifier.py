"""Tells those who asked for it of the ends of runs: each notice is a run of its own, with attempts and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.job import Execution
from dueline.domain.notices import notice_of
from dueline.domain.run import NewRun
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.store.notices import DueNotice, NoticeStore

_spec = msgspec.json.Decoder(Execution)


class NotifierStore(NoticeStore, Protocol):
    """What a notifier needs of the store."""


class Notifier:
    """Any number of them may run: of two who come to the same end, one writes its notice. Whoever ends a run with a notice says so: looks
    now and then are for what was not heard, and one of them, the `first`, looks often."""

    def __init__(
        self, store: NotifierStore, membership: Membership, definitions: Definitions, *, first: Callable[[], bool]
    ) -> None:
        self._store = store
        self._membership = membership
        self._definitions = definitions
        self._first = first

    async def step(self) -> float:
        due = await self._store.notices(limit=limits.NOTICE_BATCH)
        if due:
            await self._store.send_notices([one.run_id for one in due], await self._notices(due))
        if len(due) == limits.NOTICE_BATCH:
            return 0.0
        return limits.SWEEP_S if self._first() else limits.SWEEP_OTHERS_S

    async def _notices(self, due: list[DueNotice]) -> list[NewRun]:
        versions = await self._definitions.load({key for one in due if (key := _version_of(one)) is not None})
        now_ms = self._membership.time.now_ms()
        notices = []
        for one in due:
            if one.run is None:
                continue
            key = _version_of(one)
            definition = None if key is None else versions[key].definition
            if one.spec is not None:
                # It has no job, or what its job says was corrected for this one run.
                execution = _spec.decode(one.spec)
            else:
                assert definition is not None, "a run without a spec is of a job"
                execution = definition.execution
            name = None if definition is None else definition.name
            notice = notice_of(one.run, execution, job_name=name, now_ms=now_ms)
            if notice is not None:
                notices.append(notice)
        return notices


def _version_of(one: DueNotice) -> tuple[JobId, int] | None:
    run = one.run
    return None if run is None or run.job_id is None or run.version is None else (run.job_id, run.version)
