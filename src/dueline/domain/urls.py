"""Target URLs: one strict parse. What is refused here would mean one thing to us and another to the client that calls it."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from dueline.domain import limits

_GOOD = re.compile(r"[Hh][Tt][Tt][Pp][Ss]?://([!$-.0-;=@-\[\]_a-z~]*)(?:[/?][!$-;=?-\[\]_a-z~]*)?")
_PLAIN = re.compile(r"[!-~]*")
_FORBIDDEN = re.compile(r'["<>\\^`{|}]')
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?]*)(?P<rest>.*)")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>.*))?")
_HOST = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?"
)
_HOST_LETTERS_MAX = 253
_NUMERIC = re.compile(r"\d+|0[xX][0-9A-Fa-f]*")


@lru_cache(maxsize=4_096)
def url_problem(url: str) -> str | None:
    """Why a URL cannot be a target, or None. Only http and https, no user info, no fragment, a host that reads in one way."""
    good = _GOOD.fullmatch(url)
    if good and len(url) <= limits.URL_LETTERS_MAX:
        # As a rule nothing but its host is left to ask about.
        return _authority_problem(good[1])
    if len(url) > limits.URL_LETTERS_MAX:
        return f"is longer than {limits.URL_LETTERS_MAX} letters"
    if not _PLAIN.fullmatch(url):
        return "must not hold spaces, control characters or letters beyond ASCII: percent-encode them"
    if found := _FORBIDDEN.search(url):
        return f"must not hold {found[0]!r}: percent-encode it"
    parts = _URL.fullmatch(url)
    if parts is None or parts["scheme"].lower() not in ("http", "https"):
        return "must begin with http:// or https://"
    if "#" in url:
        return "must not have a fragment (#…): it is never sent"
    return _authority_problem(parts["authority"])


@lru_cache(maxsize=4_096)
def authority(url: str) -> str:
    """Host and port of a URL as it is written, in lower case. Kept: runs without a job call the same few URLs again and again."""
    parts = _URL.fullmatch(url)
    return "" if parts is None else parts["authority"].lower()


@lru_cache(maxsize=4_096)
def _authority_problem(authority: str) -> str | None:
    if "@" in authority:
        return "must not hold user info (user:password@): send an Authorization header"
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None or not parts["host"]:
        return "has no host" if not authority or authority.startswith(":") else "has a host that cannot be read"
    port = parts["port"]
    if port is not None and not (re.fullmatch(r"[0-9]{1,5}", port) and 1 <= int(port) <= 65_535):
        return "has a port that is not between 1 and 65535"
    return _host_problem(parts["host"])


def _host_problem(host: str) -> str | None:
    try:
        if host.startswith("["):
            if "%" in host:
                return "must not name a zone in its address"
            IPv6Address(host[1:-1])
            return None
        if _NUMERIC.fullmatch(host.removesuffix(".").rpartition(".")[2]):
            # Resolvers read 2130706433, 0x7f000001, 0177.0.0.1 and 127.1 as addresses, each in its own way.
            IPv4Address(host)
            return None
    except AddressValueError:
        return f"has an address that is not in its usual form: {host!r}"
    if len(host) > _HOST_LETTERS_MAX or not _HOST.fullmatch(host):
        return f"has a host that cannot be read: {host[:_HOST_LETTERS_MAX]!r}"
    return None


def without_password(address: str) -> str:
    """The address of a database, for people to read."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", address)
