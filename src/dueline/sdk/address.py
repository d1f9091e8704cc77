"""Where a server is."""

from __future__ import annotations

import ssl
from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    url: str
    host: str
    port: int
    base: str
    """What stands before every path."""
    tls: ssl.SSLContext | None

    @property
    def authority(self) -> str:
        """As the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def read_address(url: str, *, tls: ssl.SSLContext | None = None) -> Address:
    """The parts of a URL, or ValueError. Servers of https are trusted as the system says, unless `tls` says otherwise."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    is_plain = not (parts.query or parts.fragment or parts.username or parts.password)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1 or not is_plain:
        raise ValueError(f"{url!r} is not an address such as http://127.0.0.1:8700")
    is_tls = parts.scheme == "https"
    if tls is not None and not is_tls:
        raise ValueError(f"{url!r} does not begin with https://, so there is nothing for tls to say")
    context = (tls or ssl.create_default_context()) if is_tls else None
    return Address(url, parts.hostname, port or (443 if is_tls else 80), parts.path.rstrip("/"), context)
