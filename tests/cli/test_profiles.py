"""Several servers: profiles, and which server and key a command uses."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.cli.profile_file import Profiles, read_profiles, write_profiles
from dueline.domain.errors import Invalid
from tests.cli.conftest import Command
from tests.support.small_server import Answer, Question, SmallServer


def no_jobs(_asked: Question) -> Answer:
    return 200, b'{"items": [], "next_cursor": null}'


def keys(server: SmallServer) -> list[str | None]:
    return [asked.key for asked in server.asked]


@pytest.fixture
def one() -> Iterator[SmallServer]:
    with SmallServer(no_jobs) as server:
        yield server


@pytest.fixture
def other() -> Iterator[SmallServer]:
    with SmallServer(no_jobs) as server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the command keeps profiles in these tests."""
    return tmp_path / "config" / "dueline" / "config.toml"


def key_file(tmp_path: Path, key: str) -> str:
    path = tmp_path / f"{key}.txt"
    path.write_text(f"{key}\n")
    return str(path)


def test_profiles_are_added_listed_used_and_removed(dueline: Command, file: Path, tmp_path: Path) -> None:
    assert dueline("profile", "list", "-o", "json").json == {"items": []}
    first = dueline("profile", "add", "local", "http://127.0.0.1:8700/")
    assert (first.code, first.err) == (0, "Added local; commands use it.\n")
    second = dueline("profile", "add", "far", "https://far.test", "--api-key-file", key_file(tmp_path, "canary"))
    assert second.err == "Added far; commands use local: dueline profile use far.\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    shown = dueline("profile", "list", "-o", "json")
    assert shown.json["items"] == [
        {"name": "far", "url": "https://far.test", "has_key": True, "used": False},
        {"name": "local", "url": "http://127.0.0.1:8700", "has_key": False, "used": True},
    ]
    assert "canary" not in shown.out + dueline("profile", "list").out
    assert dueline("profile", "use", "far").code == 0
    assert [one["used"] for one in dueline("profile", "list", "-o", "json").json["items"]] == [True, False]
    assert dueline("profile", "use", "none").code == 3
    assert dueline("profile", "remove", "far", "--yes").code == 0
    assert "canary" not in file.read_text()
    assert [one["used"] for one in dueline("profile", "list", "-o", "json").json["items"]] == [False]


def test_a_name_that_is_taken_is_a_conflict_unless_it_is_to_be_replaced(dueline: Command) -> None:
    dueline("profile", "add", "a", "http://a.test")
    taken = dueline("profile", "add", "a", "http://b.test")
    assert (taken.code, "--replace" in taken.err) == (4, True)
    assert dueline("profile", "add", "a", "http://b.test", "--replace").code == 0
    assert dueline("profile", "list", "-o", "json").json["items"][0]["url"] == "http://b.test"


def test_forgetting_a_key_is_asked_about(process: Command, file: Path, tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": str(file.parents[1])}
    process("profile", "add", "a", "http://a.test", "--api-key-file", key_file(tmp_path, "k"), **home)
    nobody = process("profile", "remove", "a", **home)
    assert (nobody.code, "say --yes" in nobody.err) == (2, True)
    said_no = process("profile", "remove", "a", typed="n\n", **home)
    assert (said_no.code, "a of http://a.test, with its API key?" in said_no.err) == (1, True)
    assert read_profiles(file).servers["a"]["api_key"] == "k"
    assert process("profile", "remove", "a", typed="y\n", **home).code == 0
    assert read_profiles(file) == Profiles(None, {})


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["a b", "http://a.test"], "is not the name of a profile"),
        (["-", "http://a.test"], "is not the name of a profile"),
        (["a" * 65, "http://a.test"], "is not the name of a profile"),
        (["a", "ftp://a.test"], "URL: "),
        (["a", "http://a.test", "--api-key-file", "/nowhere"], "cannot read /nowhere"),
    ],
)
def test_a_bad_profile_is_refused_and_nothing_is_written(
    dueline: Command, file: Path, args: list[str], told: str
) -> None:
    ended = dueline("profile", "add", *args)
    assert (ended.code, told in ended.err, file.exists()) == (2, True, False)


def test_a_key_with_a_space_in_it_is_refused_and_not_told(dueline: Command, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("can ary")
    ended = dueline("profile", "add", "a", "http://a.test", "--api-key-file", str(path))
    assert (ended.code, "ary" in ended.err) == (2, False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[profiles", "is not TOML"),
        ("extra = 1", "extra is not known"),
        ("profiles = 1", "must be tables"),
        ("[profiles.a]\nurl = 1", "must have a url"),
        ("[profiles.a]\napi_key = 'k'", "must have a url"),
        ("[profiles.a]\nurl = 'http://a.test'\nport = 'x'", "profiles.a.port is not known"),
        ("current = 'b'\n[profiles.a]\nurl = 'http://a.test'", "current is 'b'"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_what_is_wrong(dueline: Command, file: Path, text: str, told: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    ended = dueline("job", "list")
    assert (ended.code, str(file) in ended.err, told in ended.err) == (2, True, True)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "config.toml"
    profiles = Profiles("a.b", {"a.b": {"url": "http://a.test", "api_key": '!"\\#~'}, "c": {"url": "http://c.test"}})
    write_profiles(path, profiles)
    assert read_profiles(path) == profiles
    assert os.listdir(path.parent) == ["config.toml"]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Invalid, match="cannot be written"):
        write_profiles(tmp_path / "file" / "config.toml", Profiles(None, {}))


def test_the_server_is_that_of_the_option_then_the_environment_then_the_profile(
    dueline: Command, one: SmallServer, other: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    dueline("profile", "add", "one", one.url)
    dueline("profile", "add", "other", other.url)

    def asked(*args: str) -> tuple[int, int]:
        before = len(keys(one)), len(keys(other))
        assert dueline(*args).code == 0
        return len(keys(one)) - before[0], len(keys(other)) - before[1]

    assert asked("job", "list") == (1, 0), "the current profile"
    monkeypatch.setenv("DUELINE_PROFILE", "other")
    assert asked("job", "list") == (0, 1), "the one that the environment names"
    assert asked("job", "list", "--profile", "one") == (1, 0), "the option over the environment, anywhere"
    assert asked("--profile", "one", "job", "list") == (1, 0)
    monkeypatch.setenv("DUELINE_URL", one.url)
    assert asked("job", "list") == (1, 0), "a URL in the environment over any profile"
    assert asked("--server", other.url, "job", "list") == (0, 1), "the option over everything"
    assert dueline("job", "list", "--profile", "none").code == 3
    bad = dueline("--server", "x", "job", "list")
    assert (bad.code, bad.err.startswith("Error: --server: ")) == (2, True)


def test_the_key_is_that_of_the_option_then_the_environment_then_the_profile(
    dueline: Command, one: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dueline("profile", "add", "one", one.url, "--api-key-file", key_file(tmp_path, "of-profile"))
    dueline("job", "list")
    monkeypatch.setenv("DUELINE_API_KEY", "of-environment")
    dueline("job", "list")
    dueline("--api-key-file", key_file(tmp_path, "of-option"), "job", "list")
    assert keys(one) == ["Bearer of-profile", "Bearer of-environment", "Bearer of-option"]


def test_the_key_of_a_profile_goes_to_its_server_alone(
    dueline: Command, one: SmallServer, other: SmallServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dueline("profile", "add", "one", one.url, "--api-key-file", key_file(tmp_path, "canary"))
    dueline("--server", other.url, "job", "list")
    monkeypatch.setenv("DUELINE_URL", other.url)
    dueline("job", "list")
    assert keys(other) == [None, None]
    monkeypatch.setenv("DUELINE_URL", one.url)
    dueline("job", "list")
    assert keys(one) == ["Bearer canary"], "the same server by another name for it"


def test_a_key_may_come_from_standard_input(process: Command, one: SmallServer) -> None:
    assert process("--api-key-file", "-", "job", "list", stdin="piped\n", DUELINE_URL=one.url).code == 0
    assert keys(one) == ["Bearer piped"]


def test_the_settings_tell_which_profile_they_are_of(dueline: Command) -> None:
    dueline("profile", "add", "one", "http://one.test")
    shown = dueline("config", "show", "-o", "json").json
    assert shown["url"] == {"value": "http://one.test", "origin": "profile one"}
