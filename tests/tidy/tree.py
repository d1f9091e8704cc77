"""The files that the rules of the house look at."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "src/dueline/"


@dataclass(frozen=True)
class Source:
    """One Python file; `path` is relative to the root of the repository, with forward slashes."""

    path: str
    text: str

    @property
    def module_path(self) -> str:
        """The path inside the package, such as `store/protocol.py`; the whole path for other trees."""
        return self.path.removeprefix(PACKAGE)


def python_sources(*tops: str) -> Iterator[Source]:
    """Every Python file under the given directories; those that do not exist hold none."""
    for top in tops:
        for path in sorted((ROOT / top).rglob("*.py")):
            yield Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def lies_in(module_path: str, homes: tuple[str, ...]) -> bool:
    """Whether a path is one of the homes, or lies in one; a home that is a directory ends with a slash."""
    return any(module_path.startswith(home) if home.endswith("/") else module_path == home for home in homes)
