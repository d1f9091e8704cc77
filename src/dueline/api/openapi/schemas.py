"""The types of routes as JSON Schemas: made by the library that reads and writes them, and told in words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from dueline.api.openapi.fields import FIELDS, TYPES
from dueline.api.openapi.shapes import EXAMPLES, REF, SHARED, shaped
from dueline.api.routes import ApiRoute
from dueline.wire.problems import Problem

_PAGE = re.compile(r"Page_(\w+?)(?:View)?_")
_PLAIN: dict[Any, dict[str, Any]] = {str: {"type": "string"}, dict[str, Any]: {"type": "object"}}
"""Answers that are not of a type of ours."""


class Schemas:
    """The schemas of all bodies of some routes: `of` refers to one, and `components` has them all."""

    def __init__(self, routes: Iterable[ApiRoute]) -> None:
        kinds = dict.fromkeys(kind for route in routes for kind in (route.request, route.response, Problem))
        named = [kind for kind in kinds if kind is not None and kind not in _PLAIN]
        refs, found = msgspec.json.schema_components(named, ref_template=REF)
        self._refs = {kind: _renamed(ref) for kind, ref in zip(named, refs, strict=True)}
        told = {_PAGE.sub(r"\1Page", name): _renamed(schema) for name, schema in found.items()}
        self.components: dict[str, Any] = {
            **{name: _told(name, schema) for name, schema in told.items()},
            **SHARED,
        }

    def of(self, kind: Any) -> dict[str, Any]:
        plain = _PLAIN.get(kind)
        return dict(self._refs[kind]) if plain is None else dict(plain)

    def name_of(self, kind: Any) -> str:
        """What the schema of a type is called among the components."""
        name: str = self._refs[kind]["$ref"].rpartition("/")[2]
        return name

    def patch_of(self, kind: Any) -> dict[str, Any]:
        """What a merge patch of a type may hold: anything of it, and null for the default."""
        whole = self.name_of(kind)
        name = f"{whole.removesuffix('Input').removesuffix('Patch')}Patch"
        self.components[name] = _patch(self.components[whole])
        return {"$ref": REF.format(name=name)}


def _renamed(value: Any) -> Any:
    """The same, with pages of things named after the things."""
    if isinstance(value, dict):
        return {key: _renamed(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renamed(inner) for inner in value]
    if isinstance(value, str) and value.startswith("#/"):
        return _PAGE.sub(r"\1Page", value)
    return value


def _told(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A schema in words, without the name that it repeats."""
    told = {key: value for key, value in schema.items() if key != "title"}
    told["description"] = " ".join(told.get("description", TYPES.get(name, "")).split())
    if not told.get("required", True):
        del told["required"]
    if "properties" in told:
        told["properties"] = {
            field: shaped(name, field, inner) | {"description": FIELDS.get(f"{name}.{field}") or FIELDS.get(field, "")}
            for field, inner in told["properties"].items()
        }
    if name in EXAMPLES:
        told["examples"] = EXAMPLES[name]
    return told


def _patch(schema: dict[str, Any]) -> dict[str, Any]:
    properties = {field: _nullable(inner) for field, inner in schema["properties"].items()}
    words = "A JSON merge patch (RFC 7396): what is absent stays, null goes back to its default."
    return {"type": "object", "description": words, "properties": properties, "additionalProperties": False}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    bare = {key: value for key, value in schema.items() if key not in ("default", "description")}
    options = bare["anyOf"] if list(bare) == ["anyOf"] else [bare]
    null = {"type": "null"}
    return {"anyOf": options if null in options else [*options, null], "description": schema["description"]}
