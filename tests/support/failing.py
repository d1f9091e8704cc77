"""A store that fails on purpose: before a call takes effect, or after it did, with the answer lost on the way."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Any, cast

from dueline.domain.errors import StoreUnavailable
from dueline.store.protocol import Store


class Fault(StrEnum):
    BEFORE = "before"
    """The call never reached the store."""
    AFTER = "after"
    """The call took effect, and its answer was lost."""


class Killed(BaseException):
    """The process died here. Not an Exception: nothing in the product may catch it."""


class FailingStore:
    """Passes every call on, and fails one: the n-th of a method. It may kill the caller instead."""

    def __init__(self, store: Store, method: str, nth: int, fault: Fault, *, kill: bool) -> None:
        self._store = store
        self._method = method
        self._nth = nth
        self._fault = fault
        self._kill = kill
        self.calls = Counter[str]()
        self.struck = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        if name in ("listen", "open", "close"):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            self.calls[name] += 1
            if name != self._method or self.calls[name] != self._nth:
                return await method(*args, **kwargs)
            self.struck = True
            if self._fault is Fault.AFTER:
                await method(*args, **kwargs)
            if self._kill:
                raise Killed
            raise StoreUnavailable(f"{name} failed {self._fault} its effect, on purpose")

        return call

    def as_store(self) -> Store:
        return cast(Store, self)
