"""Runs as they are by now."""

from __future__ import annotations

from dueline.api.routes import Surface
from dueline.domain.ids import RunId
from dueline.wire.runs import RunView, run_view


async def run_as_it_is(surface: Surface, tenant: str, run_id: RunId) -> RunView:
    """A run, with the name of its job. Raises NotFound."""
    run = await surface.insights.run(tenant, run_id)
    return run_view(run, await surface.insights.names_of(tenant, [run]))
