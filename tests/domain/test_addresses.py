"""Which addresses may be connected to: by default, on private networks, and by the lists."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.addresses import AddressPolicy, judge, read_network

DEFAULT = AddressPolicy()
PRIVATE = AddressPolicy(private=True)
EVERYTHING = AddressPolicy(private=True, allow=(read_network("0.0.0.0/0"), read_network("::/0")))


def addresses(text: str) -> list[str]:
    return text.split()


PUBLIC = addresses("""
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17
    169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.88.98.255 192.88.100.0
    192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
    2606:4700:4700::1111 2a00:1450:4001:80b::200e 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1
    3ffe:ffff::1 3fff:1000::1 2620:fe::fe
    ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2606:4700::5efe:808:808
""")

LOCAL = addresses("""
    10.0.0.0 10.1.2.3 10.255.255.255 172.16.0.0 172.20.1.1 172.31.255.255 192.168.0.0 192.168.1.1 192.168.255.255
    127.0.0.0 127.0.0.1 127.0.0.2 127.1.1.1 127.255.255.255 100.64.0.0 100.100.100.199 100.100.100.201 100.127.255.255
    ::1 fc00::1 fd00::1 fd00:ec2::253 fdff:ffff::1 fec0::1 feff::1
    ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:192.168.0.1 ::ffff:100.64.0.1
    64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::100.64.0.1 64:ff9b:1::8.8.8.8 64:ff9b:1::10.0.0.1 64:ff9b:1:a01:2:300::
    2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:192.168.1.1 fd00::5efe:8.8.8.8
""")
"""Refused by default, and opened by `private`."""

METADATA = addresses("""
    169.254.169.254 169.254.170.2 169.254.170.23 168.63.129.16 192.0.0.192 100.100.100.200
    fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42
    ::ffff:169.254.169.254 ::169.254.169.254 64:ff9b::169.254.169.254 64:ff9b::168.63.129.16 2002:a9fe:a9fe::1
    2001:0:a9fe:a9fe:0:0:f7f7:f7f7 2001:0:808:808:0:0:5601:5601 2606:4700::5efe:169.254.169.254
    64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:a9:fe:a9fe:: 64:ff9b:1:0:a9:fea9:fe00:0
""")

REFUSED = addresses("""
    0.0.0.0 0.0.0.1 0.255.255.255 169.254.0.0 169.254.1.1 169.254.255.255 192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.255 192.0.2.1
    192.88.99.1 198.18.0.0 198.19.255.255 198.51.100.7 203.0.113.255 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.254
    255.255.255.255
    :: ::2 ::ffff:0.0.0.0 ::ffff:255.255.255.255 ::ffff:224.0.0.1 ::ffff:0:8.8.8.8 ::ffff:0:127.0.0.1 ::fffe:8.8.8.8 0:1::1
    64:ff9b:: 64:ff9b::1:0:0 64:ff9b:2::1 64:ff9b::224.0.0.1
    64:ff9b:1::169.254.1.1 100::1 100:0:0:1::1 200::1 400::1 1000::1 4000::1 5f00::1 6000::1 8000::1 c000::1 e000::1 f000::1 fb00::1
    fe00::1 fe80::1 fe80::a9fe:a9fe febf::1 ff00::1 ff02::1 ff0e::1 2001:1::1 2001:2::1 2001:3::1 2001:10::1 2001:20::1 2001:1ff::1
    2001:db8::1 3fff::1 3fff:fff::1 2002:: 2002:e000:1::1 2002:ffff:ffff:: 2001:: 2001:0:0:0:0:0:f7f7:f7f7
    ::8.8.8.8 ::127.0.0.1 ::10.0.0.1 2002:808:808::1 2001:0:808:808:0:0:f7f7:f7f7
    2002:7f00:1:: 2002:7f00:1::1 2002:a00:1:1::1 2002:c0a8:101:0:1:2:3:4
    2001:0:a00:1:0:0:f7f7:f7f7 2001:0:808:808:0:0:80ff:fffe 2001:0:808:808:8000:1:f5ff:fffe
    fe80::5efe:8.8.8.8 fe80::5efe:10.0.0.1 fe80::1%eth0 ::1%lo 2606:4700::1%1 fe80::1%25eth0
""")
"""Refused by default, and not opened by `private`."""

NO_ADDRESSES = [
    "",
    "localhost",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.0.0.01",
    " 8.8.8.8",
    "8.8.8.8 ",
]
NO_ADDRESSES += ["[::1]", "8.8.8.8/32", "8.8.8.8:80", "①.1.1.1", "/run/socket", "1.1.1.1\0", "::ffff:127.0.0.1.", "%"]


def test_the_table_is_large_and_says_each_once() -> None:
    every = [*PUBLIC, *LOCAL, *METADATA, *REFUSED]
    assert len(every) == len(set(every)) >= 120


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_may_be_called(address: str) -> None:
    assert judge(address, DEFAULT) is None
    assert judge(address, PRIVATE) is None


@pytest.mark.parametrize("address", LOCAL)
def test_private_networks_may_be_called_only_where_they_are_opened(address: str) -> None:
    assert "private_targets or target_allow" in (judge(address, DEFAULT) or "")
    assert judge(address, PRIVATE) is None


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_neither_public_nor_private_is_refused(address: str) -> None:
    assert judge(address, DEFAULT)
    assert judge(address, PRIVATE)
    assert (judge(address, EVERYTHING) is None) == ("%" not in address)


@pytest.mark.parametrize("address", METADATA)
def test_metadata_is_served_to_nobody_who_was_not_named(address: str) -> None:
    """A list that opens a whole network does not mean the credentials of the machine."""
    assert "credentials" in (judge(address, DEFAULT) or "")
    assert "names this one address" in (judge(address, PRIVATE) or "")
    assert judge(address, EVERYTHING)


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "is not an IP address" in (judge(address, EVERYTHING) or "")


@pytest.mark.parametrize(
    ("address", "allow"),
    [
        ("10.1.2.3", "10.1.2.0/24"),
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("64:ff9b::10.1.2.3", "10.1.2.3"),
        ("127.0.0.1", "127.0.0.0/8"),
        ("::1", "::1"),
        ("fd00::7", "fd00::/64"),
        ("fe80::1", "fe80::/10"),
        ("169.254.7.7", "169.254.0.0/16"),
        ("169.254.169.254", "169.254.169.254"),
        ("fd00:ec2::254", "fd00:ec2::254/128"),
        ("240.1.1.1", "240.0.0.0/4"),
        ("0.0.0.0", "0.0.0.0/32"),
    ],
)
def test_the_list_allows_what_it_names(address: str, allow: str) -> None:
    assert judge(address, DEFAULT)
    assert judge(address, AddressPolicy(allow=(read_network("8.8.8.8"), read_network(allow)))) is None


@pytest.mark.parametrize(
    ("address", "allow"),
    [
        ("10.1.2.3", "10.1.3.0/24"),
        ("::1", "127.0.0.0/8"),
        ("127.0.0.1", "::/0"),
        ("169.254.169.254", "169.254.0.0/16"),
        ("fd00:ec2::254", "fc00::/7"),
        ("64:ff9b::10.1.2.3", "64:ff9b::/96"),
        ("2002:a01:203::1", "2002::/16"),
        ("2001:0:808:808:0:0:80ff:fffe", "2001::/32"),
        ("2606:4700::5efe:10.0.0.1", "2606:4700::/32"),
        ("64:ff9b:1::8.8.8.8", "8.8.8.8"),
        ("fe80::1%eth0", "fe80::/10"),
    ],
)
def test_the_list_allows_nothing_else(address: str, allow: str) -> None:
    """Least of all what is held by an address that it names."""
    assert judge(address, AddressPolicy(allow=(read_network(allow),)))


@pytest.mark.parametrize(
    ("address", "deny"),
    [
        ("8.8.8.8", "8.8.8.0/24"),
        ("::ffff:8.8.8.8", "8.8.8.8"),
        ("64:ff9b::8.8.8.8", "8.8.8.8"),
        ("64:ff9b::8.8.8.8", "64:ff9b::/96"),
        ("2002:808:808::1", "8.8.8.8"),
        ("2001:0:808:808:0:0:f7f7:f7f7", "8.8.8.8"),
        ("::8.8.8.8", "8.8.8.8"),
        ("10.0.0.1", "10.0.0.0/8"),
        ("2606:4700::1", "2606::/16"),
        ("2606:4700::1", "::/0"),
    ],
)
def test_a_denial_wins_over_everything(address: str, deny: str) -> None:
    policy = AddressPolicy(private=True, allow=EVERYTHING.allow, deny=(read_network("9.9.9.9"), read_network(deny)))
    assert judge(address, EVERYTHING) is None
    assert (judge(address, policy) or "").endswith(f"in {read_network(deny)}, which the setting target_deny refuses")


def test_the_reason_says_what_the_address_is_and_what_to_do() -> None:
    assert judge("10.0.0.1", DEFAULT) == (
        "10.0.0.1 is a private address: it is called only if the setting private_targets or target_allow allows it"
    )
    assert judge("64:ff9b::e000:1", DEFAULT) == (
        "64:ff9b::e000:1 leads to 224.0.0.1, a multicast address: it is called only if the setting target_allow allows it"
    )


@given(st.ip_addresses(v=4))
def test_what_the_standard_library_calls_local_is_never_public_here(address: IPv4Address) -> None:
    assert address.is_global or judge(str(address), DEFAULT)


@given(st.ip_addresses(v=6))
def test_nor_is_it_in_the_long_form(address: IPv6Address) -> None:
    assert (address.is_global and not address.is_multicast) or address.ipv4_mapped or judge(str(address), DEFAULT)


@given(st.ip_addresses(v=4), st.booleans())
def test_an_address_is_judged_alike_in_every_wrapping(address: IPv4Address, private: bool) -> None:
    """Also in the tunnels, where somebody has allowed those."""
    policy = AddressPolicy(private=private, allow=(read_network("2001::/32"), read_network("2002::/16")))
    number = int(address)
    wrapped = [0xFFFF << 32 | number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80 | 1]
    wrapped += [0x20010000 << 96 | number << 64 | 0xF7F7F7F7, 0x20010000 << 96 | 0x8080808 << 64 | number ^ 0xFFFFFFFF]
    wrapped += [0x26064700 << 96 | 0x5EFE << 32 | number]
    plain = judge(str(address), policy)
    for form in map(IPv6Address, wrapped):
        assert (judge(str(form), policy) is None) == (plain is None), form


@pytest.mark.parametrize("text", ["10.0.0.0/8", "10.1.2.3", "fd00::/8", "::1", "0.0.0.0/0", "10.0.0.0/255.0.0.0"])
def test_a_network_is_read(text: str) -> None:
    network = read_network(text)
    assert ip_address(text.partition("/")[0]) in network
    assert read_network(str(network)) == network


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an address"),
        ("localhost", "not an address"),
        ("10.0.0.0/33", "not an address"),
        ("10.0.0", "not an address"),
        ("010.0.0.0/8", "not an address"),
        ("10.1.0.0/8", "did you mean 10.0.0.0/8?"),
        ("fd00::1/64", "did you mean fd00::/64?"),
        ("fe80::1%eth0", "network interface"),
        ("::ffff:10.0.0.0/104", "write it in the form"),
    ],
)
def test_a_network_that_cannot_be_meant_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        read_network(text)
    assert reason in str(raised.value)


def test_the_policy_is_a_value() -> None:
    assert AddressPolicy(deny=(IPv4Network("10.0.0.0/8"),)) == AddressPolicy(deny=(read_network("10.0.0.0/8"),))
