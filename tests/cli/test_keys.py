"""Keys from the command line, and those of the first start."""

import stat
from pathlib import Path

import pytest

from dueline.domain.access import make_key
from dueline.runtime.keyfiles import find_key, keep_key, kept_keys
from dueline.sdk import errors
from dueline.sdk.client import PlainClient
from dueline.sdk.retries import NEVER
from tests.cli.conftest import Command
from tests.support.dueline import DuelineProcess, processes
from tests.support.keys import ADMIN_KEY

MISTYPED = f"{make_key(bytes(40))[:-1]}x"
NONE_GIVEN = {"DUELINE_ADMIN_KEY": "", "DUELINE_API_KEY": ""}


def test_a_key_from_its_making_to_its_end(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    made = cli("key", "create", "--role", "reader", "--name", "reports", "-o", "json").json
    assert made["id"] in cli("key", "list").out
    monkeypatch.setenv("DUELINE_API_KEY", made["key"])
    assert cli("key", "whoami", "-o", "json").json["role"] == "reader"
    refused = cli("key", "list")
    assert (refused.code, "needs a key with the role admin" in refused.err) == (2, True)
    monkeypatch.setenv("DUELINE_API_KEY", ADMIN_KEY)
    assert cli("key", "get", made["id"], "-o", "json").json["revoked_at"] is None
    assert cli("key", "revoke", made["id"], "--yes", "-o", "json").json["revoked_at"] is not None
    monkeypatch.setenv("DUELINE_API_KEY", made["key"])
    assert cli("key", "whoami").code == 2


def test_a_key_file_is_for_its_user_and_this_machine_alone(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    path = keep_key(folder, 8700, "a-key-of-8700")
    keep_key(folder, 8701, "a-key-of-8701")
    keep_key(folder, 8700, "another-of-8700")
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)) == (0o600, 0o700)
    assert sorted(kept_keys(folder)) == ["a-key-of-8701", "another-of-8700"]
    for url in ("http://127.0.0.1:8700", "http://localhost:8700/x", "http://[::1]:8700"):
        assert find_key(folder, url) == "another-of-8700"
    for url in ("http://127.0.0.1:8702", "http://10.1.2.3:8700", "https://example.com:8700", "http://x:y", "nothing"):
        assert find_key(folder, url) is None
    assert find_key(tmp_path / "nowhere", "http://127.0.0.1:8700") is None


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "db") if request.param == "sqlite" else request.getfixturevalue("postgres_dsn")


def shown_key(said: str) -> str | None:
    return next((line.rsplit(" ", 1)[1] for line in said.splitlines() if "admin key, shown only now:" in line), None)


def test_the_first_start_makes_a_key_and_later_ones_do_not(
    tmp_path: Path, db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ".local/share/dueline/keys"
    monkeypatch.setenv("DUELINE_KEY_DIR", str(folder))
    monkeypatch.delenv("DUELINE_API_KEY")
    with processes() as started:
        ports, shown = [], []
        for name in ("first", "second"):
            started.append(DuelineProcess(tmp_path, name, "serve", "--port", "0", db=db, environment=NONE_GIVEN))
            url = started[-1].wait_until_running()
            assert url is not None
            # It finds the key by itself, also at the second port.
            with PlainClient(url) as client:
                told = client.keys.caller()
                assert (told["tenant"], told["role"]) == ("default", "admin")
                assert len(client.keys.list().page(None)["items"]) == 1
            with PlainClient(url, api_key="", retry=NEVER) as client, pytest.raises(errors.Denied):
                client.jobs.list().page(None)
            ports.append(url.rsplit(":", 1)[1])
            shown.append(shown_key(started[-1].said))
            assert started[-1].stop() == 0
    assert shown[0] is not None
    assert shown[1] is None
    assert (folder / f"{ports[1]}.key").read_text().strip() == shown[0]
    assert shown[0] not in (tmp_path / "first.log").read_text()


def test_a_given_key_is_the_first_and_only_then(tmp_path: Path, db: str) -> None:
    with processes() as started:
        for name, given in (("first", "given-at-first"), ("second", "given-too-late"), ("third", MISTYPED)):
            more = {"DUELINE_ADMIN_KEY": given}
            started.append(DuelineProcess(tmp_path, name, "serve", "--port", "0", db=db, environment=more))
            url = started[-1].wait_until_running()
            with PlainClient(url, api_key="given-at-first") as client:
                assert client.keys.caller()["role"] == "admin"
            with PlainClient(url, api_key="given-too-late", retry=NEVER) as client, pytest.raises(errors.Denied):
                client.keys.caller()
            assert shown_key(started[-1].said) is None
            assert started[-1].stop() == 0


def test_a_server_on_the_network_does_not_start_without_keys(tmp_path: Path, db: str, process: Command) -> None:
    arguments = ("serve", "--host", "0.0.0.0", "--port", "0", "--db", db)
    refused = process(*arguments)
    assert refused.code == 2
    assert "0.0.0.0 can be reached from the network, and there are no API keys yet" in refused.err
    short = process(*arguments, DUELINE_ADMIN_KEY="1234567")
    assert (short.code, "admin_key: must have 8 to 200" in short.err) == (2, True)
    mistyped = process(*arguments, DUELINE_ADMIN_KEY=MISTYPED)
    assert (mistyped.code, "admin_key: begins like a key that Dueline made, and was mistyped" in mistyped.err) == (
        2,
        True,
    )
    made = process("db", "key", "--db", db, "--name", "first", "-o", "json").json
    with processes() as started:
        started.append(
            DuelineProcess(tmp_path, "open", "serve", "--host", "0.0.0.0", "--port", "0", db=db, environment=NONE_GIVEN)
        )
        started[-1].wait_until_running()
        port = started[-1].said.split("http://0.0.0.0:", 1)[1].split(",", 1)[0].split()[0].strip(".,/")
        with PlainClient(f"http://127.0.0.1:{port}", api_key=made["key"]) as client:
            assert client.keys.caller()["key_id"] == made["id"]
        unknown = make_key(bytes(40))
        with (
            PlainClient(f"http://127.0.0.1:{port}", api_key=unknown, retry=NEVER) as client,
            pytest.raises(errors.Denied),
        ):
            client.keys.caller()
        assert started[-1].stop() == 0
