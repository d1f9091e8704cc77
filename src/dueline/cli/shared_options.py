"""Options that several commands have, told once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Shared(NamedTuple):
    """An option: its annotation, as a command would have it, and what it is where nobody says anything."""

    annotation: Any
    default: Any = None


def with_options(
    command: Callable[..., None], known: Mapping[str, Shared], gather: Callable[..., Any]
) -> Callable[..., None]:
    """Give a command options in place of its parameter `asked`, which gets what `gather` makes of what they say."""
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        if name == "asked":
            parameters += [_parameter(option, shared) for option, shared in known.items()]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def run(**values: Any) -> None:
        said = {name: values.pop(name) for name in known}
        command(**values, asked=gather(**said))

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)
    return run


def _parameter(name: str, shared: Shared) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shared.default, annotation=shared.annotation)
