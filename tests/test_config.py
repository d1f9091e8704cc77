"""Settings: where they come from, which wins, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from dueline.config import Settings, load_settings, names, shown
from dueline.domain.errors import Invalid


def load(flags: dict[str, Any] | None = None, /, **variables: str) -> Settings:
    return load_settings(flags, environ={"XDG_CONFIG_HOME": "/nowhere", **variables})


def file(folder: Path, text: str) -> str:
    path = folder / "settings.toml"
    path.write_text(text)
    return str(path)


def test_the_defaults() -> None:
    settings = load(XDG_DATA_HOME="/data")
    assert (settings.host, settings.port, settings.url) == ("127.0.0.1", 8700, "http://127.0.0.1:8700")
    assert (settings.db, settings.queues, settings.api_key) == ("/data/dueline/dueline.db", (), None)
    assert set(settings.origins) == set(names())
    assert set(settings.origins.values()) == {"default"}


def test_a_relative_data_folder_is_ignored() -> None:
    assert load(XDG_DATA_HOME="data").db == str(Path.home() / ".local/share/dueline/dueline.db")


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, 'port = 1\nslots = 2\ndrain_s = 3\nqueues = ["a", "b"]')
    settings = load({"port": 5}, DUELINE_CONFIG=path, DUELINE_SLOTS="7", DUELINE_PORT="6")
    assert (settings.port, settings.slots, settings.drain_s, settings.queues) == (5, 7, 3.0, ("a", "b"))
    origins = settings.origins
    assert (origins["port"], origins["slots"], origins["drain_s"]) == ("flag", "environment", path)
    assert origins["host"] == "default"


def test_the_file_of_the_user_is_found(tmp_path: Path) -> None:
    (tmp_path / "dueline").mkdir()
    (tmp_path / "dueline/dueline.toml").write_text("port = 1234")
    assert load_settings(environ={"XDG_CONFIG_HOME": str(tmp_path)}).port == 1234


def test_an_empty_variable_counts_as_unset() -> None:
    assert load(DUELINE_PORT="").port == 8700


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("DUELINE_PORT", "x", "between 0 and 65535"),
        ("DUELINE_PORT", "65536", "between 0 and 65535"),
        ("DUELINE_PORT", "1.5", "between 0 and 65535"),
        ("DUELINE_HOST", "example.com", "not an address"),
        ("DUELINE_DB", "mysql://x", "mysql://"),
        ("DUELINE_QUEUES", "a,b c", "'b c'"),
        ("DUELINE_QUEUES", "a,,b", "''"),
        ("DUELINE_SLOTS", "0", "between 1 and"),
        ("DUELINE_DRAIN_S", "-1", "seconds"),
        ("DUELINE_DRAIN_S", "nan", "seconds"),
        ("DUELINE_LOG_LEVEL", "loud", "debug or info"),
        ("DUELINE_LOG_FORM", "xml", "text or json"),
        ("DUELINE_URL", "127.0.0.1:8700", "not an address"),
        ("DUELINE_URL", "http://user@x", "not an address"),
        ("DUELINE_API_KEY", "a b", "ASCII"),
        ("DUELINE_PAYLOAD_BYTES_MAX", "99999999", "between 1 and"),
        ("DUELINE_PRIVATE_TARGETS", "yes", "auto or allow or deny"),
        ("DUELINE_TARGET_ALLOW", "10.0.0.0/8,example.com", "'example.com' is not an address or a network"),
        ("DUELINE_TARGET_ALLOW", "10.0.0.1/8", "did you mean 10.0.0.0/8?"),
        ("DUELINE_TARGET_ALLOW", "10.0.0.0/8,", "must be text"),
        ("DUELINE_TARGET_DENY", "10.0.0.0/33", "not an address or a network"),
        ("DUELINE_TARGET_DENY", "::ffff:10.0.0.0/104", "write it in the form 10.1.0.0/16"),
        ("DUELINE_PROT", "1", "did you mean DUELINE_PORT?"),
        ("DUELINE_WHATEVER", "1", "no such setting"),
        ("DUELINE_CONFIG", "/nowhere/else.toml", "no file"),
    ],
)
def test_a_bad_variable_is_refused(variable: str, value: str, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        load(**{variable: value})
    ((field, told),) = raised.value.problems
    assert field == variable
    assert reason in told


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        ("prot = 1", "prot", "did you mean port?"),
        ("[server]\nport = 1", "server", "no such setting"),
        ("port = true", "port", "whole number"),
        ("port = 1.0", "port", "whole number"),
        ("host = 5", "host", "must be text"),
        ("queues = 5", "queues", "a list"),
        ("queues = [5]", "queues", "name of a queue"),
        ("target_allow = 5", "target_allow", "a list"),
        ("target_allow = [2130706433]", "target_allow", "must be text"),
        ('target_deny = [["10.0.0.0/8"]]', "target_deny", "must be text"),
        ("drain_s = true", "drain_s", "seconds"),
        ("port =", "DUELINE_CONFIG", "not TOML"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, field: str, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        load(DUELINE_CONFIG=file(tmp_path, text))
    assert dict(raised.value.problems).keys() == {field}
    assert reason in str(raised.value)


def test_networks_are_read(tmp_path: Path) -> None:
    path = file(tmp_path, 'private_targets = "Deny"\ntarget_allow = ["10.1.0.0/16", "10.1.0.0/16", "::1"]')
    settings = load(DUELINE_CONFIG=path, DUELINE_TARGET_DENY="10.1.2.3, fd00::/8")
    assert (settings.private_targets, shown(settings, "target_allow")) == ("deny", "10.1.0.0/16,::1/128")
    assert shown(settings, "target_deny") == "10.1.2.3/32,fd00::/8"


def test_everything_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as raised:
        load({"slots": 0, "queue": 1}, DUELINE_PORT="x")
    assert [field for field, _ in raised.value.problems] == ["DUELINE_PORT", "--slots", "--queue"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "0.0.0.0", "10.1.2.3"])
def test_an_address_to_listen_on(host: str) -> None:
    assert load(DUELINE_HOST=host).host == host


def test_secrets_are_not_shown() -> None:
    settings = load(
        DUELINE_API_KEY="canary", DUELINE_DB="postgresql://me:canary@host:5432,other/db", DUELINE_QUEUES="a,b"
    )
    assert not any("canary" in shown(settings, name) for name in names())
    assert shown(settings, "db") == "postgresql://me:***@host:5432,other/db"
    assert shown(settings, "queues") == "a,b"
    assert shown(settings, "admin_key") == ""


@pytest.mark.parametrize("share", ["0", "1.1", "half", "-1"])
def test_a_share_of_the_slots_is_some_of_them(share: str) -> None:
    assert load(DUELINE_HOST_SHARE="0.25").host_share == 0.25
    with pytest.raises(Invalid, match="DUELINE_HOST_SHARE"):
        load(DUELINE_HOST_SHARE=share)
