"""Tasks that do nothing but to note when they start."""

import os
import struct
import time
from pathlib import Path

from bench.timing.lags import STARTS
from dueline import App

app = App("bench")
_starts = os.open(Path.home() / STARTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


@app.task(name="note")
async def note(customer: str, cents: int) -> None:
    del customer, cents
    os.write(_starts, struct.pack("d", time.time()))
