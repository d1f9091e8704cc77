"""A client of server-sent events, as a browser is one: it reads blocks of lines, and remembers the last id."""

from __future__ import annotations

import time
from http.client import HTTPConnection, IncompleteRead
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec

from tests.support.keys import AUTHORIZED

PATIENCE_S = 20.0
"""Only a test that is about to fail waits this long."""


class Heard(NamedTuple):
    id: str | None
    type: str
    data: Any


class Listener:
    """Listens from entry to exit. It may be told to go on behind an id, and says itself which one it has."""

    def __init__(
        self, url: str, path: str = "/v1/events", *, last_id: str | None = None, timeout_s: float = PATIENCE_S
    ) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=timeout_s)
        self._path = path
        self.last_id = last_id
        self.beats = 0

    def __enter__(self) -> Self:
        headers = {"Accept": "text/event-stream", **AUTHORIZED}
        if self.last_id is not None:
            headers["Last-Event-ID"] = self.last_id
        self._connection.request("GET", self._path, headers=headers)
        self._response = self._connection.getresponse()
        assert self._response.status == 200, self._response.read()
        assert self._response.headers["content-type"] == "text/event-stream; charset=utf-8"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._response.close()
        self._connection.close()

    def hear(self) -> Heard | None:
        """The next event, or None when the stream has ended in order. Raises ConnectionError when it broke off, and TimeoutError
        when there were signs of life and nothing else for too long."""
        deadline_s = time.monotonic() + PATIENCE_S
        while (block := self._block()) is not None:
            if time.monotonic() > deadline_s:
                raise TimeoutError("nothing is told")
            lines = [line.partition(": ") for line in block]
            said = {name: value for name, _, value in lines if name}
            self.beats += any(not name for name, _, _ in lines)
            self.last_id = said.get("id", self.last_id)
            if "data" in said:
                return Heard(said.get("id"), said["event"], msgspec.json.decode(said["data"]))
        return None

    def hear_many(self, count: int) -> list[Heard]:
        heard: list[Heard] = []
        for _ in range(count):
            event = self.hear()
            assert event is not None, f"the stream ended after {heard}"
            heard.append(event)
        return heard

    def hear_beat(self) -> None:
        """The next block, which must be a sign of life."""
        before = self.beats
        block = self._block()
        assert block is not None
        assert block[0].startswith(":"), block
        self.beats = before + 1
        self.last_id = next((line.removeprefix("id: ") for line in block if line.startswith("id: ")), self.last_id)

    def _block(self) -> list[str] | None:
        lines: list[str] = []
        while True:
            try:
                line = self._response.readline()
            except IncompleteRead as error:
                raise ConnectionResetError("the stream broke off") from error
            if not line:
                return None
            if line == b"\n":
                return lines
            lines.append(line.decode().rstrip("\n"))
