"""What tests of executors share: callers, a target, and executors of tasks that are closed after the test."""

import contextlib
from collections.abc import AsyncIterator

import pytest

from dueline.worker.executors import http, links, transfer
from tests.support.calling import Caller, OpenCaller
from tests.support.target import Target
from tests.support.task_caller import OpenTaskCaller, TaskCaller


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine must not change who is connected."""
    for module in (links, transfer):
        monkeypatch.setattr(module, "CONNECTION_IDLE_S_MAX", 60)


@pytest.fixture(params=["plain", "libcurl"])
async def open_caller(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, patient: None
) -> AsyncIterator[OpenCaller]:
    """Usual calls without TLS go over connections of our own; libcurl, which has all others, must do the same with them."""
    del patient
    if request.param == "libcurl":
        monkeypatch.setattr(http, "plain_request", lambda _: None)
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
