"""What the page on security says of addresses is true."""

import re
from pathlib import Path

import pytest

from dueline.config import load_settings
from dueline.domain.addresses import AddressPolicy, judge, read_network

SECURITY = (Path(__file__).parents[2] / "docs" / "operating" / "security.md").read_text()
ROWS = [line.strip("|").split("|") for line in SECURITY.splitlines() if line.startswith("| ")]
NETWORKS = [(words.strip(), name) for words, cell in ROWS for name in re.findall(r"`([0-9a-f:./]+)`", cell)]
PRIVATE = AddressPolicy(private=True)


@pytest.mark.parametrize(("words", "name"), [entry for entry in NETWORKS if entry[1] != "2000::/3"])
def test_every_network_of_the_table_is_refused_from_its_first_address_to_its_last(words: str, name: str) -> None:
    network = read_network(name)
    opened = words == "private networks" or name in ("127.0.0.0/8", "::1")
    assert judge(str(network[0]), AddressPolicy())
    assert judge(str(network[-1]), AddressPolicy())
    assert (judge(str(network[0]), PRIVATE) is None) == opened


def test_the_error_is_the_one_that_runs_have() -> None:
    assert f"refused_address: {judge('10.1.2.3', AddressPolicy())}\n" in SECURITY


def test_the_example_allows_what_it_names() -> None:
    (value,) = re.findall(r"DUELINE_TARGET_ALLOW=(\S+)", SECURITY)
    settings = load_settings(environ={"XDG_CONFIG_HOME": "/nowhere", "DUELINE_TARGET_ALLOW": value})
    policy = AddressPolicy(allow=settings.target_allow)
    for address in ("10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "fd00:7::1"):
        assert judge(address, policy) is None
