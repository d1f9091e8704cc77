"""python -m bench.ours.noop worker|serve PORT: a real process, but for an executor that ends every call at once.

Settings come from the environment. All else is what it is: the lease and its heartbeat, tokens, attempts, history, gates, the counters and
the port that tells them; and with `serve` the API and the scheduler.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence

import uvloop

from dueline.cli.process import Process
from dueline.config import load_settings
from dueline.engine.execution.exchange import HttpCall, HttpReply
from dueline.runtime.log import set_up_log
from dueline.store.fleet import Role

_SWITCH_S = 0.0005
"""As `dueline` has it."""


class NoopExecutor:
    """Every call is answered with 200 in the loop's next round."""

    def __init__(
        self,
        *,
        deliver: Callable[[list[HttpReply]], None],
        monotonic: Callable[[], float],
        may_send: Callable[[], bool],
    ) -> None:
        self._deliver = deliver
        self._monotonic = monotonic
        self._may_send = may_send
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def submit(self, calls: Sequence[HttpCall]) -> None:
        assert self._loop is not None
        assert self._may_send()
        now_s = self._monotonic()
        replies = [HttpReply(call.key, 200, None, "", None, b"ok", False, now_s, now_s) for call in calls]
        self._loop.call_soon(self._deliver, replies)

    def cancel(self, keys: Iterable[object]) -> None:
        """What was submitted has ended."""

    def close(self) -> None: ...


def main(role: str, port: str) -> None:
    serves = role == "serve"
    settings = load_settings({"port" if serves else "health_port": int(port)})
    set_up_log(level=settings.log_level, form=settings.log_form)
    sys.setswitchinterval(_SWITCH_S)
    process = Process(
        settings,
        api=serves,
        role=Role.ALL if serves else Role.WORKER,
        started=lambda url: print(f"Dueline without work is running at {url}.", flush=True),
        make_executor=NoopExecutor,
    )
    uvloop.run(process.run())


if __name__ == "__main__":
    main(*sys.argv[1:])
