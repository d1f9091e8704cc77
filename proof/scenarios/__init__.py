"""What happens in the scenarios: a function each, a file for each kind of trouble. Seconds count from the first occurrence."""

from __future__ import annotations

from proof.scenarios import broken, clocks, load, network, processes, storage, tenants

ALL = [*processes.PLANS, *load.PLANS, *tenants.PLANS, *network.PLANS, *clocks.PLANS, *storage.PLANS, *broken.PLANS]
