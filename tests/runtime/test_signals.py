"""The first signal asks, the second forces."""

import asyncio
import signal

import pytest

from dueline.runtime.signals import Stop


async def test_the_first_request_asks_and_the_second_forces() -> None:
    stop = Stop()
    assert (stop.asked.is_set(), stop.forced.is_set()) == (False, False)
    stop.ask()
    assert (stop.asked.is_set(), stop.forced.is_set()) == (True, False)
    stop.ask()
    assert (stop.asked.is_set(), stop.forced.is_set()) == (True, True)


@pytest.mark.parametrize(
    ("first", "second"),
    [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGINT)],
)
async def test_signals_are_requests(first: signal.Signals, second: signal.Signals) -> None:
    stop = Stop()
    stop.on_signals()
    try:
        signal.raise_signal(first)
        async with asyncio.timeout(1):
            await stop.asked.wait()
        assert not stop.forced.is_set()
        signal.raise_signal(second)
        async with asyncio.timeout(1):
            await stop.forced.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().remove_signal_handler(number)
