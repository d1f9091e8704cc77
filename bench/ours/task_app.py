"""An app with a task that does nothing, for real workers."""

from __future__ import annotations

from bench.ours.runs import TASK
from dueline import App

app = App("bench")


@app.task(name=TASK)
async def noop(customer: str, cents: int) -> None: ...
