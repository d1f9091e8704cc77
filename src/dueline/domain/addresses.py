"""Which addresses a target may have. The address that is connected to decides, not the name that led there.

What is not known to be public is refused. `ipaddress.is_global` would not do: it passes tunnels and translators that lead to private
networks, multicast, and the addresses at which clouds hand out credentials.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import msgspec

Network = IPv4Network | IPv6Network

_MAPPED = IPv6Network("::ffff:0:0/96")


class AddressPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """`deny` wins over `allow`, and that over the default, which is to refuse whatever is not public.

    `private` opens loopback and private networks, and nothing else: not link-local addresses, and no metadata service.
    """

    private: bool = False
    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()


class _Kind(msgspec.Struct, frozen=True):
    """A kind of address that is refused unless allowed. `singly`: only by an entry that names this one address."""

    words: str
    private: bool = False
    singly: bool = False


_METADATA = _Kind("the metadata service of a cloud, which hands out credentials", singly=True)
_LOOPBACK = _Kind("a loopback address", private=True)
_PRIVATE = _Kind("a private address", private=True)
_CARRIER = _Kind("an address behind a carrier's NAT", private=True)
_LINK_LOCAL = _Kind("a link-local address")
_UNSPECIFIED = _Kind("no address of a host")
_PROTOCOL = _Kind("an address reserved for protocols")
_DOCUMENTATION = _Kind("an address for documentation")
_BENCHMARK = _Kind("an address for benchmarks")
_MULTICAST = _Kind("a multicast address")
_BROADCAST = _Kind("the broadcast address")
_TUNNEL = _Kind("an address of a tunnel that is no longer run")
_RESERVED = _Kind("a reserved address")

_KINDS_V4 = [
    (IPv4Network(network), kind)
    for network, kind in [
        ("100.100.100.200", _METADATA),  # Alibaba
        ("168.63.129.16", _METADATA),  # Azure's platform: a public address that every virtual machine reaches
        ("169.254.169.254", _METADATA),  # nearly all
        ("169.254.170.2", _METADATA),  # containers on AWS
        ("169.254.170.23", _METADATA),  # pods on AWS
        ("192.0.0.192", _METADATA),  # Oracle
        ("0.0.0.0/8", _UNSPECIFIED),  # Linux takes 0.0.0.0 for this machine
        ("10.0.0.0/8", _PRIVATE),
        ("100.64.0.0/10", _CARRIER),
        ("127.0.0.0/8", _LOOPBACK),
        ("169.254.0.0/16", _LINK_LOCAL),
        ("172.16.0.0/12", _PRIVATE),
        ("192.0.0.0/24", _PROTOCOL),
        ("192.0.2.0/24", _DOCUMENTATION),
        ("192.88.99.0/24", _RESERVED),  # the relays of 6to4, withdrawn
        ("192.168.0.0/16", _PRIVATE),
        ("198.18.0.0/15", _BENCHMARK),
        ("198.51.100.0/24", _DOCUMENTATION),
        ("203.0.113.0/24", _DOCUMENTATION),
        ("224.0.0.0/4", _MULTICAST),
        ("255.255.255.255", _BROADCAST),
        ("240.0.0.0/4", _RESERVED),
    ]
]
"""The first that fits counts; an IPv4 address that fits none is public."""

_KINDS_V6 = [
    (IPv6Network(network), kind)
    for network, kind in [
        ("fd00:42::42", _METADATA),  # Scaleway
        ("fd00:ec2::23", _METADATA),  # pods on AWS
        ("fd00:ec2::254", _METADATA),  # AWS
        ("fd20:ce::254", _METADATA),  # Google
        ("::", _UNSPECIFIED),
        ("::1", _LOOPBACK),
        ("64:ff9b:1::/48", _PRIVATE),  # a translator of the local network
        ("2001::/32", _TUNNEL),  # Teredo
        ("2001:2::/48", _BENCHMARK),
        ("2001:db8::/32", _DOCUMENTATION),
        ("2001::/23", _PROTOCOL),
        ("2002::/16", _TUNNEL),  # 6to4
        ("3fff::/20", _DOCUMENTATION),
        ("fc00::/7", _PRIVATE),
        ("fe80::/10", _LINK_LOCAL),
        ("fec0::/10", _PRIVATE),
        ("ff00::/8", _MULTICAST),
        ("::ffff:0:0/96", None),
        ("64:ff9b::/96", None),
        ("2000::/3", None),
        ("::/0", _RESERVED),
    ]
]
"""The first that fits counts. None: it is public, as far as what it holds is. The last lines refuse what is not handed out to anybody."""

_HOLDERS = [
    (IPv6Network("::ffff:0:0/96"), 12),  # IPv4-mapped
    (IPv6Network("::/96"), 12),  # IPv4-compatible
    (IPv6Network("::ffff:0:0:0/96"), 12),  # IPv4-translated
    (IPv6Network("64:ff9b::/96"), 12),  # NAT64
    (IPv6Network("2002::/16"), 2),  # 6to4
    (IPv6Network("2001::/32"), 4),  # Teredo: its server
]
"""IPv6 addresses that hold an IPv4 address, and the octet where that begins."""
_OF_THIS_HOST = IPv6Network("::/127")
"""`::` and `::1`, which hold nothing."""
_TEREDO = IPv6Network("2001::/32")
_ISATAP = (b"\0\0\x5e\xfe", b"\2\0\x5e\xfe")
_NAT64_LOCAL = IPv6Network("64:ff9b:1::/48")
_NAT64_LOCAL_PLACES = ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), (12, 13, 14, 15))
"""The octets of the IPv4 address after a prefix of 48, 56, 64 and 96 bits (RFC 6052). An address does not say which of them it has."""


def judge(address: str, policy: AddressPolicy) -> str | None:
    """Why an address must not be connected to, in a sentence that says what can be done about it, or None.

    An address that holds others (IPv4 in IPv6) is refused for any of them: each needs to be allowed for itself.
    """
    try:
        outer = ip_address(address)
    except ValueError:
        return f"{address!r} is not an IP address"
    if isinstance(outer, IPv6Address):
        if outer.scope_id is not None:
            return f"{address} names a network interface of the worker"
        return _judge_v6(outer, policy)
    return _judge_one(outer, f"{outer} is", policy)


def read_network(text: str) -> Network:
    """A network in CIDR form, or one address; ValueError says what is wrong with it."""
    try:
        network = ip_network(text)
    except ValueError:
        try:
            meant = ip_network(text, strict=False)
        except ValueError:
            raise ValueError(f"{text!r} is not an address or a network such as 10.1.0.0/16") from None
        raise ValueError(
            f"{text!r} has an address that is not the first of its network: did you mean {meant}?"
        ) from None
    if isinstance(network, IPv6Network):
        if network.network_address.scope_id is not None:
            raise ValueError(f"{text!r} names a network interface: write the address alone")
        if network.subnet_of(_MAPPED):
            raise ValueError(f"{text!r} means IPv4: write it in the form 10.1.0.0/16")
    return network


def _judge_v6(outer: IPv6Address, policy: AddressPolicy) -> str | None:
    for held in _held(outer):
        if problem := _judge_one(held, f"{outer} leads to {held},", policy):
            return problem
    return _judge_one(outer, f"{outer} is", policy)


def _judge_one(address: IPv4Address | IPv6Address, subject: str, policy: AddressPolicy) -> str | None:
    for network in policy.deny:
        if address in network:
            return f"{subject} in {network}, which the setting target_deny refuses"
    kind = _kind(address)
    if kind is None or (policy.private and kind.private):
        return None
    if any(address in network and (not kind.singly or network.num_addresses == 1) for network in policy.allow):
        return None
    if kind.singly:
        return f"{subject} {kind.words}: it is called only if the setting target_allow names this one address"
    settings = "private_targets or target_allow" if kind.private else "target_allow"
    return f"{subject} {kind.words}: it is called only if the setting {settings} allows it"


def _kind(address: IPv4Address | IPv6Address) -> _Kind | None:
    if isinstance(address, IPv4Address):
        return next((kind for network, kind in _KINDS_V4 if address in network), None)
    return next(kind for network, kind in _KINDS_V6 if address in network)


def _held(address: IPv6Address) -> Iterator[IPv4Address]:
    """Every IPv4 address that a host, tunnel or translator may read out of an IPv6 address."""
    if address in _OF_THIS_HOST:
        return
    octets = address.packed
    for network, begin in _HOLDERS:
        if address in network:
            yield IPv4Address(octets[begin : begin + 4])
    if address in _TEREDO:
        yield IPv4Address(bytes(octet ^ 0xFF for octet in octets[12:]))
    if octets[8:12] in _ISATAP:
        yield IPv4Address(octets[12:])
    if address in _NAT64_LOCAL:
        for place in _NAT64_LOCAL_PLACES:
            held = IPv4Address(bytes(octets[index] for index in place))
            # In each form the octets behind the address are zero. Zeros alone are what another form leaves here.
            if int(held) and not any(octets[place[-1] + 1 :]):
                yield held
