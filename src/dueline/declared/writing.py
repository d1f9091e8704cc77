"""Jobs of a server, written so that they can be declared again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

from dueline.declared.owners import is_owner_tag, owner_of
from dueline.declared.trees import NUMBER
from dueline.domain.overlap import Overlap
from dueline.domain.uniqueness import OnConflict
from dueline.wire.differences import WRITABLE
from dueline.wire.jobs import JobInput
from dueline.wire.targets import HttpTargetForm, TaskTargetForm

Json = dict[str, Any]

_FIRST = ("name", "schedule", "target", "url", "task")
"""What a reader looks for."""
_WIDTH = 120
_OTHER_ENDS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_CREDENTIALS = ("auth", "cookie", "key", "secret", "token")
"""What the names of headers hold that let their sender in."""


def _plain(form: msgspec.Struct) -> Json:
    found: Json = msgspec.json.decode(msgspec.json.encode(form))
    return found


_CALL, _TASK = _plain(HttpTargetForm(url="")), _plain(TaskTargetForm(task=""))


class _Dumper(yaml.SafeDumper):
    """Puts in quotes what JSON or other readers of YAML would take for something else than text."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Lines stay lines; letters that some readers take for the end of one are escaped."""
    style = '"' if _OTHER_ENDS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-0123456789"))


def documents_of(jobs: Iterable[Mapping[str, Any]]) -> list[Json]:
    """A document for each owner, with the jobs by name; those of nobody say so."""
    owners: dict[str | None, list[Json]] = {}
    for job in sorted(jobs, key=lambda job: str(job["name"])):
        owners.setdefault(owner_of(job), []).append(to_declaration(job))
    ordered = sorted(owners, key=lambda owner: (owner is None, owner or ""))
    return [{"owner": owner, "jobs": owners[owner]} for owner in ordered]


def to_declaration(job: Mapping[str, Any]) -> Json:
    """What somebody would have written for a job: its writable part without what is the default anyway, and without its owner."""
    said = {name: job[name] for name in WRITABLE if name in job}
    said["tags"] = [tag for tag in said["tags"] if not is_owner_tag(tag)]
    defaults = _plain(JobInput(target=msgspec.UNSET))
    # Whoever says how many may be under way at once has said that they may overlap.
    defaults["overlap"] = (Overlap.SKIP if said["concurrency"] is None else Overlap.ALLOW).value
    for name in ("retry", "misfire"):
        said[name], defaults[name] = _unlike(said[name], defaults[name]), {}
    defaults["on_conflict"] = None if said.get("dedupe_key") is None else OnConflict.REJECT.value
    for name in ("concurrency", "rate"):
        if said[name] is not None:
            said[name] = {inner: value for inner, value in said[name].items() if value is not None}
    said["target"] = _ordered(_unlike(said["target"], _CALL if said["target"]["type"] == "http" else _TASK))
    return _ordered(_unlike(said, defaults))


def to_yaml(documents: Iterable[Json]) -> str:
    """YAML, a document each. What is read of it again by `trees` is the same, and by other readers too."""
    return str(
        yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH, explicit_start=True)
    )


def with_credentials(jobs: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of jobs whose headers look like something to keep from others."""
    return [
        str(job["name"])
        for job in jobs
        if any(word in name.lower() for name in job["target"].get("headers", ()) for word in _CREDENTIALS)
    ]


def _ordered(said: Mapping[str, Any]) -> Json:
    return {name: said[name] for name in [*_FIRST, *said] if name in said}


def _unlike(said: Mapping[str, Any], defaults: Mapping[str, Any]) -> Json:
    """What is said and is not the default."""
    return {name: value for name, value in said.items() if name not in defaults or value != defaults[name]}
