"""Names for shell commands, so that people recognise what was moved."""

from __future__ import annotations

import re
import shlex

_BETWEEN = re.compile(r"&&|\|\||[;|&]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_NUMBER = re.compile(r"[0-9]+[a-z]?")
_PREPARING = frozenset({"cd", "test", "[", "sleep", ".", "source", "export", "umask", "set", "ulimit", "true", "!"})
_WRAPPERS = frozenset(
    {"sudo", "nice", "ionice", "env", "timeout", "time", "nohup", "exec", "command", "flock", "chronic", "setsid", "su"}
)
_NAMING_SOMEBODY = frozenset({"-u", "-g", "--user", "--group"})
_INTERPRETERS = frozenset({"sh", "bash", "dash", "zsh", "python", "php", "perl", "ruby", "node", "java"})
_ENDINGS = (".sh", ".py", ".pl", ".rb", ".php", ".js", ".jar", ".bash")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def command_name(command: str) -> str:
    """The program that a command is about, as a name: `cd /srv && nice python3 jobs/report.py -v` is `report`."""
    for part in _BETWEEN.split(command):
        name = _program(_words(part))
        if name:
            return name
    return "command"


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part)
    except ValueError:
        return part.split()


def _program(words: list[str]) -> str:
    wrapped = interpreted = False
    for index, word in enumerate(words):
        base = word.rpartition("/")[2]
        if interpreted and word == "-m" and index + 1 < len(words):
            return tidied(words[index + 1])
        if _ASSIGNMENT.match(word) or word.startswith("-") or (wrapped and _NUMBER.fullmatch(word)):
            continue
        if wrapped and words[index - 1] in _NAMING_SOMEBODY:
            continue
        if base in _PREPARING and not wrapped:
            return ""
        if base in _WRAPPERS:
            wrapped = True
        elif base.rstrip("0123456789.") in _INTERPRETERS:
            interpreted = True
        elif wrapped and word.endswith((".lock", ".pid")):
            continue
        else:
            return tidied(base)
    return ""


def tidied(name: str) -> str:
    """A name without the ending of a file, and with nothing in it that names do without."""
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return _NOT_IN_NAMES.sub("-", name).strip("-.")
