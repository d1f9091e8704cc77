"""What a task's function takes: read from its signature once, held against JSON at every call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import SimpleNamespace
from typing import Any, Union, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.errors import Invalid
from dueline.tasks.context import Context
from dueline.wire.problems import Problems
from dueline.wire.reading import Unreadable, encode, read_body

CONTEXT_NAME = "ctx"
_WHOLE = "args"


class Parameters:
    """The named arguments of a function, with the types that its annotations ask for.

    A first parameter that is annotated as `Context`, or is called `ctx` and not annotated, is no argument: the worker fills it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Raises Invalid for a function whose arguments could not be told by name, or have no JSON form."""
        self._problems = Problems()
        parameters = list(inspect.signature(function).parameters.values())
        hints = self._resolve(function, parameters)
        self.takes_context = bool(parameters) and _is_context(parameters[0], hints)
        self._parameters = parameters[1:] if self.takes_context else parameters
        for parameter in self._parameters:
            self._check(parameter, hints)
        self._problems.raise_any()
        self._struct = _make_struct(function.__name__, self._parameters, hints)
        self._decoder = msgspec.json.Decoder(self._struct)

    def read(self, raw: bytes) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the named arguments for the function, or Invalid with every argument that does not fit."""
        try:
            values = self._decoder.decode(raw)
        except msgspec.MsgspecError as error:
            raise self._told(raw, str(error)) from None
        positional, named = [], {}
        for parameter in self._parameters:
            value = getattr(values, parameter.name)
            if parameter.kind is Parameter.POSITIONAL_ONLY:
                positional.append(parameter.default if value is UNSET else value)
            elif value is not UNSET:
                named[parameter.name] = value
        return positional, named

    def write(self, positional: Sequence[Any], named: Mapping[str, Any]) -> bytes:
        """The JSON object of these arguments, or Invalid when the function would not take them."""
        names = [parameter.name for parameter in self._parameters]
        if len(positional) > len(names):
            raise Invalid((_WHOLE, f"the task takes {len(names)} arguments, not {len(positional)}"))
        arguments = dict(zip(names, positional, strict=False))
        if twice := arguments.keys() & named.keys():
            raise Invalid(*((name, "is given twice") for name in sorted(twice)))
        arguments |= named
        raw = _encode(arguments)
        self.read(raw)
        return raw

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the object of arguments."""
        components = msgspec.json.schema(self._struct)
        definitions: dict[str, Any] = components["$defs"]
        top: dict[str, Any] = definitions.pop(components["$ref"].rpartition("/")[2])
        for parameter in self._parameters:
            if parameter.default is not Parameter.empty:
                top["properties"][parameter.name] |= _default(parameter.default)
        return top | ({"$defs": definitions} if definitions else {})

    def _resolve(self, function: Callable[..., Any], parameters: list[Parameter]) -> dict[str, Any]:
        """The annotations, one by one, so that the one that cannot be resolved is named. What it returns does not matter."""
        scope = getattr(inspect.unwrap(function), "__globals__", {})
        hints: dict[str, Any] = {}
        for parameter in parameters:
            if parameter.annotation is Parameter.empty:
                continue
            one = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
            try:
                hints |= get_type_hints(one, globalns=scope, include_extras=True)
            except (NameError, AttributeError, TypeError, SyntaxError) as error:
                reason = (
                    f"its annotation {parameter.annotation!r} cannot be resolved ({error}): name a type of the module"
                )
                self._problems.add(parameter.name, reason)
        return hints

    def _check(self, parameter: Parameter, hints: Mapping[str, Any]) -> None:
        name = parameter.name
        if parameter.kind is Parameter.VAR_POSITIONAL:
            self._problems.add(f"*{name}", "arguments are told by name: take a list instead")
        elif parameter.kind is Parameter.VAR_KEYWORD:
            self._problems.add(f"**{name}", "arguments are checked by name: take a dict instead")
        elif parameter is self._parameters[0] and name in ("self", "cls"):
            self._problems.add(
                name, "methods are no tasks, since nobody would say of which object: decorate a function"
            )
        elif hints.get(name) is Context:
            self._problems.add(name, "the context must be the first parameter")
        else:
            try:
                msgspec.json.schema(hints.get(name, Any))
            except TypeError as error:
                told = str(error).splitlines()[-1]
                self._problems.add(name, f"cannot be read from JSON: {told}")

    def _told(self, raw: bytes, message: str) -> Invalid:
        """What is wrong, argument by argument; the library stops at the first."""
        problems = Problems()
        try:
            read_body(raw, self._struct, problems)
        except (Unreadable, msgspec.ValidationError) as error:
            message = str(error)
        return Invalid(*(problems.found or [(_WHOLE, message)]))


def _is_context(first: Parameter, hints: Mapping[str, Any]) -> bool:
    if first.kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
        return False
    if first.annotation is Parameter.empty:
        return first.name == CONTEXT_NAME
    hint = hints.get(first.name)
    return isinstance(hint, type) and issubclass(hint, Context)


def _make_struct(name: str, parameters: Sequence[Parameter], hints: Mapping[str, Any]) -> type[msgspec.Struct]:
    """An optional argument may be absent, and then the function's own default counts: it need not have a JSON form."""
    fields: list[Any] = []
    for parameter in parameters:
        hint = hints.get(parameter.name, Any)
        if parameter.default is Parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, Union[hint, UnsetType], UNSET))  # noqa: UP007  # The hint is a value.
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _encode(arguments: dict[str, Any]) -> bytes:
    try:
        return encode(arguments)
    except (TypeError, ValueError, RecursionError, OverflowError):
        problems = Problems()
        for name, value in arguments.items():
            try:
                encode(value)
            except (TypeError, ValueError, RecursionError, OverflowError) as error:
                problems.add(name, f"has no JSON form: {error}")
        problems.raise_any()
        raise


def _default(value: Any) -> dict[str, Any]:
    """The default as JSON Schema tells it, where it has a JSON form."""
    try:
        return {"default": msgspec.to_builtins(value, str_keys=True)}
    except (TypeError, ValueError, RecursionError):
        return {}
