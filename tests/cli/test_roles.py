"""What a process that executes runs may call: by default, by its settings, and for real."""

import time
from pathlib import Path
from typing import Any, Literal

import pytest

from dueline.cli.process import target_policy
from dueline.config import load_settings
from dueline.domain.addresses import AddressPolicy, read_network
from dueline.sdk.client import PlainClient
from dueline.store.fleet import Role
from tests.support.dueline import DuelineProcess, processes, witness

WAIT_S_MAX = 20.0
POSTGRES = "postgresql://db/dueline"


def policy_of(role: Role | None, **variables: str) -> AddressPolicy:
    return target_policy(load_settings(environ={"XDG_CONFIG_HOME": "/nowhere", **variables}), role)


@pytest.mark.parametrize(
    ("role", "db", "private"),
    [
        (Role.ALL, "dueline.db", True),
        (Role.ALL, "sqlite:///dueline.db", True),
        (Role.ALL, POSTGRES, False),
        (Role.ALL, "postgres://db/dueline", False),
        (Role.WORKER, POSTGRES, False),
        (Role.WORKER, "dueline.db", False),
        (Role.SCHEDULER, POSTGRES, False),
        (None, POSTGRES, False),
    ],
)
def test_only_the_embedded_server_calls_private_addresses_unasked(role: Role | None, db: str, private: bool) -> None:
    assert policy_of(role, DUELINE_DB=db).private is private
    assert policy_of(role, DUELINE_DB=db, DUELINE_PRIVATE_TARGETS="auto").private is private
    assert policy_of(role, DUELINE_DB=db, DUELINE_PRIVATE_TARGETS="allow").private is True
    assert policy_of(role, DUELINE_DB=db, DUELINE_PRIVATE_TARGETS="deny").private is False


def test_the_lists_reach_the_policy() -> None:
    policy = policy_of(Role.WORKER, DUELINE_TARGET_ALLOW="10.1.2.3,fd00:7::/64", DUELINE_TARGET_DENY="1.1.1.1")
    assert policy.allow == (read_network("10.1.2.3"), read_network("fd00:7::/64"))
    assert policy.deny == (read_network("1.1.1.1"),)


def ended(client: PlainClient, run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_S_MAX
    run: dict[str, Any] = client.runs.get(run_id)
    while run["state"] not in ("succeeded", "failed"):
        assert time.monotonic() < deadline, run
        time.sleep(0.02)
        run = client.runs.get(run_id)
    return run


@pytest.mark.parametrize(
    ("private_targets", "state", "said"),
    [
        ("auto", "succeeded", "because nobody else reaches the API. DUELINE_PRIVATE_TARGETS=deny changes that."),
        ("allow", "succeeded", "as private_targets = allow says"),
        ("deny", "failed", None),
    ],
)
def test_a_server_keeps_its_policy_and_says_so(
    tmp_path: Path, private_targets: Literal["auto", "allow", "deny"], state: str, said: str | None
) -> None:
    """A refused run ends at its first attempt, with the reason and what to do."""
    with witness(tmp_path) as target, processes() as started:
        arguments = ("serve", "--port", "0")
        server = DuelineProcess(tmp_path, "serve", *arguments, db=str(tmp_path / "db"), private_targets=private_targets)
        started.append(server)
        url = server.wait_until_running()
        assert url is not None
        with PlainClient(url) as client:
            run = ended(client, client.runs.enqueue({"target": {"url": f"{target.url}/ok"}})["id"])
        assert (run["state"], run["attempt"], len(target.hits())) == (state, 1, 1 if state == "succeeded" else 0)
        assert ("private networks" in server.said) == (said is not None)
        assert (said or "") in server.said
        if state == "failed":
            (attempt,) = run["attempts"]
            assert attempt["outcome"] == "impossible"
            assert attempt["error"] == (
                "refused_address: 127.0.0.1 is a loopback address: "
                "it is called only if the setting private_targets or target_allow allows it"
            )
        assert server.stop() == 0
