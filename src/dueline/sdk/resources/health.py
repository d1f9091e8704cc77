"""How a process is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint

if TYPE_CHECKING:
    from dueline.wire.health import Health


class Healths(Resource[D]):
    """Of the process that answers, which may be one of many."""

    @endpoint("GET /livez")
    def live(self) -> Call[Health]:
        """Answers as long as the process does."""
        return Call()

    @endpoint("GET /readyz")
    def ready(self) -> Call[Health]:
        """Answers when the process can do its work, and raises Unavailable when it cannot."""
        return Call()

    @endpoint("GET /metrics")
    def metrics(self) -> Call[str]:
        """Metrics in the text format of Prometheus."""
        return Call()
