"""Dueline: a self-hosted distributed job scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dueline.sdk.async_client import AsyncClient
    from dueline.sdk.client import Client
    from dueline.tasks.app import App
    from dueline.tasks.context import Context
    from dueline.tasks.errors import Cancelled, Fail, Retry

__all__ = ["App", "AsyncClient", "Cancelled", "Client", "Context", "Fail", "Retry", "__version__"]

_HOMES = {
    "App": "dueline.tasks.app",
    "AsyncClient": "dueline.sdk.async_client",
    "Cancelled": "dueline.tasks.errors",
    "Client": "dueline.sdk.client",
    "Context": "dueline.tasks.context",
    "Fail": "dueline.tasks.errors",
    "Retry": "dueline.tasks.errors",
}
"""Imported when they are first asked for: every part of Dueline imports this module, and few of them need tasks or clients."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dueline' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
