"""Long work lets others have their turns, and short work does not even ask."""

import asyncio

import pytest

from dueline.domain import limits
from dueline.runtime.turns import Turns


@pytest.mark.parametrize(("turn_s", "came"), [(3_600, []), (0, ["other"])])
async def test_whoever_waits_comes_first_when_the_turn_is_over(
    monkeypatch: pytest.MonkeyPatch, turn_s: float, came: list[str]
) -> None:
    monkeypatch.setattr(limits, "TURN_S", turn_s)
    seen: list[str] = []
    turns = Turns()
    asyncio.get_running_loop().call_soon(seen.append, "other")
    await turns.give()
    assert seen == came
