"""What the processes have to do while they are hurt: jobs of every kind, and a client that never stops asking."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from proof.client import Client
from proof.records import Answered

ALL_MISSED = {"policy": "fire_all", "cap": 1000}
"""However long an outage takes, nothing is left out."""
TIMEOUT = "5s"
OPERATIONS_PER_S = 12.0
CROWDED = 20
RESUMES_MAX = 5
"""Nothing may stay held when a scenario is over, also where an answer is lost."""

_numbers = count(1)


def instant(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def asked(kind: str, url: str, **more: Any) -> dict[str, Any]:
    """Something to ask for, with a marker of its own as tag and in the body."""
    marker = f"{kind}-{next(_numbers)}"
    target = {"url": url, "body": {"marker": marker}}
    return {"target": target, "tags": [marker], "timeout": TIMEOUT, **more}


def jobs(url: str, begin_s: float, end_s: float, *, each_second: int = 80) -> Iterator[dict[str, Any]]:
    """Some 130 runs a second by default, spread over each second; all of them end with the scenario."""
    ends = {"end_at": instant(end_s)}

    def every(period_s: int, number: int = 0, of: int = 1) -> dict[str, Any]:
        return {"every": f"PT{period_s}S", "start_at": instant(begin_s + number / of), **ends}

    def cron(expression: str, zone: str = "UTC") -> dict[str, Any]:
        return {"cron": expression, "timezone": zone, "start_at": instant(begin_s), **ends}

    free = {"overlap": "allow", "misfire": ALL_MISSED}
    ok = f"{url}/ok"
    for number in range(each_second):
        yield asked("every", ok, schedule=every(1, number, each_second), **free)
    for number in range(10):
        yield asked("fickle", ok, schedule=every(1, number, 10), **free)
        yield asked("cron", ok, schedule=cron("* * * * * *"), **free)
        yield asked("default", ok, schedule=every(2, number, 10))
    for zone in ("Asia/Kathmandu", "Europe/Berlin", "America/St_Johns"):
        yield asked("fives", ok, schedule=cron("*/5 * * * * *", zone), **free)
        yield asked("minute", ok, schedule=cron("* * * * *", zone), **free)
    for number in range(3):
        yield asked("exclusive", f"{url}/slow/1.4", schedule=every(1, number, 3))
        yield asked("two", f"{url}/slow/0.8", schedule=every(1, number, 3), concurrency=2, misfire=ALL_MISSED)
        yield asked("flaky", f"{url}/first/status/500", schedule=every(2, number, 3), **free)
    for number in range(20):
        yield asked("slow", f"{url}/slow/0.8", schedule=every(1, number, 20), **free)
    yield asked("polite", f"{url}/first/retry-after/2", schedule=every(5), **free)
    hopeless = {"max_attempts": 2, "backoff": "fixed", "base": "1s"}
    yield asked("hopeless", f"{url}/status/500", schedule=every(5), retry=hopeless, **free)
    for number in range(int((end_s - begin_s) * 4)):
        yield asked("once", ok, schedule={"at": instant(begin_s + number / 4)})


def hostile_jobs(url: str, begin_s: float, end_s: float) -> Iterator[dict[str, Any]]:
    """Calls to a host that treats most first attempts badly, and answers later ones."""
    bad = ["hang", "reset", "flood", "redirect", "status/503", "retry-after/2"]
    ways = [*(f"first/{way}" for way in bad), "ok", "ok", "ok"]
    retry_on = ["3xx", 429, "5xx", "timeout", "connection", "error"]
    retry = {"max_attempts": 20, "base": "1s", "cap": "3s", "retry_on": retry_on}
    for number in range(4 * len(ways)):
        start_at = instant(begin_s + number / (4 * len(ways)))
        schedule = {"every": "PT1S", "start_at": start_at, "end_at": instant(end_s)}
        way = ways[number % len(ways)]
        yield asked("hostile", f"{url}/{way}", schedule=schedule, retry=retry, overlap="allow", misfire=ALL_MISSED) | {
            "timeout": "2s"
        }


def crowded_jobs(url: str, begin_s: float, end_s: float) -> Iterator[dict[str, Any]]:
    """Jobs whose runs take longer than the time between them, one at a time: most of them find that there is no room."""
    for number in range(CROWDED):
        schedule = {"every": "PT1S", "start_at": instant(begin_s + number / CROWDED), "end_at": instant(end_s)}
        yield asked("crowded", f"{url}/slow/1.2", schedule=schedule, concurrency=1, misfire=ALL_MISSED)


def at_once(url: str, at_s: float, number: int) -> list[dict[str, Any]]:
    """So many one-time jobs of one instant."""
    return [asked("burst", f"{url}/ok", schedule={"at": instant(at_s)}) for _ in range(number)]


class Traffic(threading.Thread):
    """Asks for something about twelve times a second, until it is told to stop; then resumes what it has paused."""

    def __init__(self, client: Client, url: str, seed: int) -> None:
        super().__init__(name="traffic", daemon=True)
        self._client = client
        self._url = f"{url}/ok"
        self._random = random.Random(seed)
        self._over = threading.Event()
        self._paused: list[str] = []

    def run(self) -> None:
        while not self._over.wait(self._random.expovariate(OPERATIONS_PER_S)):
            self._something()

    def stop(self) -> None:
        self._over.set()
        self.join()
        for marker in self._paused:
            for _ in range(RESUMES_MAX):
                if self._client.act("resume", marker) is not Answered.UNKNOWN:
                    break

    def _something(self) -> None:
        match self._random.choices(
            ["adhoc", "later", "many", "run", "create", "look", "change"], [4, 3, 1, 2, 2, 1, 1]
        )[0]:
            case "adhoc":
                self._client.adhoc(asked("adhoc", self._url))
            case "later":
                self._client.adhoc(asked("later", self._url, due_at=instant(self._soon_s())))
            case "many":
                self._client.adhoc_many([asked("many", self._url) for _ in range(10)])
            case "run":
                self._client.run_now(self._random.choice(self._of("every")))
            case "create":
                self._client.create(asked("once", self._url, schedule={"at": instant(self._soon_s())}))
            case "look":
                self._client.look(self._random.choice(["succeeded", "succeeded", "failed"]))
            case _:
                self._change()

    def _change(self) -> None:
        """Pause a job, resume one, or delete one, as long as enough are left. One whose fate is not known is left alone."""
        fickle = [marker for marker in self._of("fickle") if marker not in self._paused]
        if self._paused and self._random.random() < 0.6:
            marker = self._paused.pop(0)
            if self._client.act("resume", marker) is Answered.REFUSED:
                self._paused.append(marker)
        elif len(fickle) > 5:
            marker = self._random.choice(fickle)
            operation = "delete" if self._random.random() < 0.2 else "pause"
            answered = self._client.act(operation, marker)
            if answered is Answered.ACKNOWLEDGED and operation == "pause":
                self._paused.append(marker)
            elif answered is not Answered.REFUSED:
                del self._client.job_ids[marker]

    def _of(self, kind: str) -> list[str]:
        return [marker for marker in self._client.job_ids if marker.startswith(f"{kind}-")]

    def _soon_s(self) -> float:
        return datetime.now(UTC).timestamp() + self._random.uniform(0.5, 4.0)
