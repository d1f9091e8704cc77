"""File descriptors: one for every call in flight."""

from __future__ import annotations

import resource

_WANTED = 65_536


def raise_descriptor_limit() -> None:
    """Lift the soft limit, usually 1,024, as far as this process may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(hard, _WANTED)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
