"""Clients of one server, kept between calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from dueline.config import load_settings
from dueline.sdk.client import Client

IDLE_MAX = 8
"""Connections kept for the next call: as many threads as enqueue at the same moment in an ordinary program."""


class Clients:
    """A client for every caller: one belongs to one thread at a time, and is kept for the next. Also after a fork, where the parent's
    connections are left alone."""

    def __init__(self, url: str | None, api_key: str | None) -> None:
        self._url = url
        self._api_key = api_key
        self._idle: list[Client] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @contextmanager
    def client(self) -> Iterator[Client]:
        client = self._take()
        try:
            yield client
        finally:
            self._put_back(client)

    def close(self) -> None:
        """Close the connections that are kept. The next call opens another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    def _take(self) -> Client:
        with self._lock:
            if self._pid != os.getpid():
                self._idle, self._pid = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        if self._url is not None and self._api_key is not None:
            return Client(self._url, api_key=self._api_key)
        settings = load_settings()
        return Client(self._url or settings.url, api_key=self._api_key or settings.api_key)

    def _put_back(self, client: Client) -> None:
        with self._lock:
            keep = len(self._idle) < IDLE_MAX
            if keep:
                self._idle.append(client)
        if not keep:
            client.close()
