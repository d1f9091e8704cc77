"""What tests of executors share: callers, a target, and executors of tasks that are closed after the test."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from dueline.worker.executors import transfer
from tests.support.calling import Caller, OpenCaller
from tests.support.target import Target
from tests.support.task_caller import OpenTaskCaller, TaskCaller


@pytest.fixture
async def open_caller(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[OpenCaller]:
    monkeypatch.setattr(transfer, "CONNECTION_IDLE_S_MAX", 60)  # A slow machine must not change who is connected.
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(contextlib.closing(Caller(**options)))


@pytest.fixture
async def caller(open_caller: OpenCaller) -> Caller:
    return open_caller()


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        yield target


@pytest.fixture
async def open_task_caller() -> AsyncIterator[OpenTaskCaller]:
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(contextlib.closing(TaskCaller(**options)))
