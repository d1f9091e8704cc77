"""python -m bench.ours.noop worker|serve PORT: a real process, but for a crew that ends every task at once.

Settings come from the environment. All else is what it is: the lease and its heartbeat, tokens, attempts, history, gates, the counters and
the port that tells them; and with `serve` the API and the scheduler.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import uvloop

from dueline.cli.process import Process
from dueline.config import load_settings
from dueline.domain.run import Outcome, OutcomeKind
from dueline.runtime.log import set_up_log
from dueline.store.fleet import Role
from dueline.tasks.context import Report
from dueline.worker.executors.tasks import TaskCall, TaskReply

_SWITCH_S = 0.0005
"""As `dueline` has it."""
_SUCCEEDED = Outcome(kind=OutcomeKind.SUCCEEDED)


class NoopCrew:
    """Every task has succeeded in the loop's next round."""

    def __init__(
        self,
        *,
        deliver: Callable[[list[TaskReply]], None],
        told: Callable[[Any, Report], None],
        monotonic: Callable[[], float],
    ) -> None:
        del told  # There is nothing to tell.
        self._deliver = deliver
        self._monotonic = monotonic
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, calls: Sequence[TaskCall]) -> None:
        assert self._loop is not None
        now_s = self._monotonic()
        self._loop.call_soon(self._deliver, [TaskReply(call.key, _SUCCEEDED, now_s, now_s) for call in calls])

    def cancel(self, keys: Iterable[Any]) -> None:
        """What was submitted has ended."""

    def room(self) -> int | None:
        return None

    def has(self, _task: str) -> bool:
        return True

    def limit_of(self, _task: str) -> int | None:
        return None

    def close(self) -> None: ...


def main(role: str, port: str) -> None:
    serves = role == "serve"
    settings = load_settings({"port" if serves else "health_port": int(port), "app": "bench.ours.task_app:app"})
    set_up_log(level=settings.log_level, form=settings.log_form)
    sys.setswitchinterval(_SWITCH_S)
    process = Process(
        settings,
        api=serves,
        role=Role.ALL if serves else Role.WORKER,
        started=lambda url: print(f"Dueline without work is running at {url}.", flush=True),
        make_crew=NoopCrew,
    )
    uvloop.run(process.run())


if __name__ == "__main__":
    main(*sys.argv[1:])
