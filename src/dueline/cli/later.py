"""Modules that are loaded when they are first used: nobody waits for what a command does not need.

Types see the module itself:

if TYPE_CHECKING:
    from dueline.sdk import client as sdk
else:
    sdk = Later("dueline.sdk.client")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module, and imports it when something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)
