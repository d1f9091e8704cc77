"""Tasks to be carried out in tests, in this process and in others."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dueline import App, Context, Fail, Retry

app = App("tests")
POLL_S = 0.002


@app.task(name="add")
def add(a: int, b: int = 1) -> int:
    return a + b


@app.task(name="add_async")
async def add_async(a: int, b: int = 1) -> int:
    await asyncio.sleep(0)
    return a + b


@app.task(name="raise")
def raise_error(message: str) -> None:
    raise LookupError(message)


@app.task(name="raise_async")
async def raise_error_async(message: str) -> None:
    raise LookupError(message)


@app.task(name="exit")
def exit_interpreter() -> None:
    sys.exit(3)


@app.task(name="exit_async")
async def exit_interpreter_async() -> None:
    sys.exit(3)


@app.task(name="fail")
def fail() -> None:
    raise Fail("no such customer")


@app.task(name="retry")
def retry() -> None:
    raise Retry("the feed is late", after="10m")


@app.task(name="result")
def result(kind: str) -> Any:
    results: dict[str, Any] = {
        "none": None,
        "object": object(),
        "large": ["x" * 1000] * 100,
        "surrogate": "\ud800",
        "dict": {"a": (1, 2)},
        "coroutine": asyncio.sleep(0) if kind == "coroutine" else None,
    }
    return results[kind]


@app.task(name="identify")
def identify(ctx: Context) -> list[Any]:
    at = ctx.scheduled_at.isoformat()
    return [ctx.run_id, ctx.job_id, ctx.attempt, ctx.token, at, ctx.tenant, ctx.checkpoint_data]


@app.task(name="report")
def report(ctx: Context, count: int) -> None:
    for number in range(count):
        ctx.progress(number / count, f"{number} of {count}")
        ctx.checkpoint({"number": number})
    ctx.heartbeat()


@app.task(name="report_async")
async def report_async(ctx: Context, count: int) -> None:
    report(ctx, count)


@app.task(name="checkpoint_too_large")
def checkpoint_too_large(ctx: Context) -> None:
    ctx.checkpoint("x" * 100_000)


@app.task(name="until_stopped")
def until_stopped(ctx: Context) -> None:
    """Says that it began, then runs until it is asked to stop."""
    ctx.progress(0.0, str(os.getpid()))
    while True:
        ctx.check_cancelled()
        time.sleep(POLL_S)


@app.task(name="until_stopped_async")
async def until_stopped_async(ctx: Context) -> None:
    ctx.progress(0.0, "began")
    await asyncio.Event().wait()


@app.task(name="finish_when_stopped")
def finish_when_stopped(ctx: Context) -> str:
    """Does its work to the end, although it is asked to stop."""
    ctx.progress(0.0, "began")
    while not ctx.cancelled:
        time.sleep(POLL_S)
    return "done"


@app.task(name="die_when_stopped")
def die_when_stopped(ctx: Context, status: int) -> None:
    ctx.progress(0.0, "began")
    while not ctx.cancelled:
        time.sleep(POLL_S)
    os._exit(status)


@app.task(name="keep_when_released")
def keep_when_released(ctx: Context, release: str) -> list[int]:
    """Keeps how often it was begun once a file is there; the first time it then waits for ever, unless it is stopped."""
    ctx.progress(0.0, "began")
    while not Path(release).exists():
        time.sleep(POLL_S)
    begun = [*(ctx.checkpoint_data or []), len(ctx.checkpoint_data or []) + 1]
    ctx.checkpoint(begun)
    while len(begun) == 1 and not ctx.cancelled:
        time.sleep(POLL_S)
    return begun


@app.task(name="stubborn")
def stubborn(ctx: Context, release: str) -> str:
    """Runs until a file is there, whatever anybody asks."""
    ctx.progress(0.0, str(os.getpid()))
    while not Path(release).exists():
        time.sleep(POLL_S)
    return "released"


@app.task(name="stubborn_async")
async def stubborn_async(ctx: Context, release: str) -> str:
    ctx.progress(0.0, "began")
    while not Path(release).exists():  # noqa: ASYNC240  # It is to be a nuisance.
        try:
            await asyncio.sleep(POLL_S)
        except asyncio.CancelledError:
            continue
    return "released"


@app.task(name="spawn")
def spawn(ctx: Context) -> None:
    """Starts a program and waits for it."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        ctx.progress(0.0, str(process.pid))


@app.task(name="stages")
def stages(ctx: Context, ends: list[str]) -> list[int]:
    """Keeps the numbers of its attempts, and ends each as it is told; the last is a result."""
    _keep_attempt(ctx)
    _end(ends[ctx.attempt - 1])
    return list(ctx.checkpoint_data)


@app.task(name="stages_async")
async def stages_async(ctx: Context, ends: list[str]) -> list[int]:
    _keep_attempt(ctx)
    await asyncio.sleep(0)
    _end(ends[ctx.attempt - 1])
    return list(ctx.checkpoint_data)


def _keep_attempt(ctx: Context) -> None:
    ctx.checkpoint([*(ctx.checkpoint_data or []), ctx.attempt])
    ctx.progress(ctx.attempt / 10, f"attempt {ctx.attempt}")


def _end(how: str) -> None:
    match how:
        case "raise":
            raise LookupError("nothing there")
        case "retry":
            raise Retry("the feed is late", after="10s")
        case "fail":
            raise Fail("no such customer")
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            os._exit(1)


@app.task(name="limited", concurrency=2)
def limited(ctx: Context, release: str) -> str:
    return stubborn(ctx, release)


@app.task(name="limited_async", concurrency=2)
async def limited_async(ctx: Context, release: str) -> str:
    return await stubborn_async(ctx, release)


@app.task(name="thread_name")
def thread_name() -> str:
    return threading.current_thread().name


@app.task(name="pid")
def pid() -> int:
    return os.getpid()


@app.task(name="die")
def die(status: int) -> None:
    os._exit(status)


@app.task(name="kill_self")
def kill_self(number: int) -> None:
    os.kill(os.getpid(), signal.Signals(number))


@app.task(name="write_to_all_files")
def write_to_all_files() -> None:
    """A program that writes to descriptors that are none of its business."""
    for fd in range(3, 64):
        try:
            os.write(fd, b"\xff" * 64)
        except OSError:
            continue
    time.sleep(600)


@app.task(name="retry_in_hours")
def retry_in_hours() -> None:
    raise Retry("the feed comes in the evening", after="5h")
