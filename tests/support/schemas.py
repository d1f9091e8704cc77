"""Whether JSON is what a JSON Schema says, for the part of the language that our document uses. What it does not know, it refuses."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dueline.domain.errors import Invalid
from dueline.domain.instants import parse_instant

WORDS = {"description", "examples", "default", "discriminator", "title"}
"""What says nothing of what is allowed."""
TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: not TYPES["number"](value) or value >= bound,
    "maximum": lambda value, bound: not TYPES["number"](value) or value <= bound,
    "minLength": lambda value, bound: not isinstance(value, str) or len(value) >= bound,
    "maxLength": lambda value, bound: not isinstance(value, str) or len(value) <= bound,
    "pattern": lambda value, bound: not isinstance(value, str) or re.search(bound, value) is not None,
    "minItems": lambda value, bound: not isinstance(value, list) or len(value) >= bound,
    "maxItems": lambda value, bound: not isinstance(value, list) or len(value) <= bound,
    "uniqueItems": lambda value, _: not isinstance(value, list) or all(value.count(one) == 1 for one in value),
    "enum": lambda value, bound: value in bound,
    "type": lambda value, bound: TYPES[bound](value),
}


class Schemas:
    """Judges values by the schemas of an OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def resolved(self, part: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a reference refers to; anything else as it is."""
        while "$ref" in part:
            found: Any = self._document
            for name in part["$ref"].removeprefix("#/").split("/"):
                found = found[name]
            part = found
        return part

    def faults(self, value: Any, schema: Mapping[str, Any], at: str = "$") -> Iterator[str]:
        """What is wrong with a value, by its place."""
        for key, bound in schema.items():
            if key == "$ref":
                yield from self.faults(value, self.resolved(schema), at)
            elif key == "anyOf":
                if all(any(self.faults(value, option)) for option in bound):
                    yield f"{at}: {value!r} is none of {bound}"
            elif key == "format":
                assert bound == "date-time", f"no judge of {bound}"
                yield from _instant(value, at)
            elif key in BOUNDS:
                if not BOUNDS[key](value, bound):
                    yield f"{at}: {value!r} against {key} {bound!r}"
            elif key not in {"properties", "required", "additionalProperties", "items"}:
                assert key in WORDS, f"no judge of {key}"
        yield from self._inside(value, schema, at)

    def _inside(self, value: Any, schema: Mapping[str, Any], at: str) -> Iterator[str]:
        if isinstance(value, list) and "items" in schema:
            for index, inner in enumerate(value):
                yield from self.faults(inner, schema["items"], f"{at}[{index}]")
        if isinstance(value, dict):
            properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
            yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
            for name, inner in value.items():
                if name in properties:
                    yield from self.faults(inner, properties[name], f"{at}.{name}")
                elif others is False:
                    yield f"{at}: an unknown {name}"
                elif others is not True:
                    yield from self.faults(inner, others, f"{at}.{name}")


def _instant(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, str):
        try:
            parse_instant(value, field=at)
        except Invalid as error:
            yield f"{at}: {error}"
