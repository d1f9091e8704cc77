"""The client has what the API has: a method for every route, with its parameters, its body and its answer."""

import inspect
from collections.abc import Iterator
from types import NoneType
from typing import Any

import msgspec
import pytest

from dueline.api import simple
from dueline.api.app import ROUTES as ALL_ROUTES
from dueline.api.routes import ApiRoute
from dueline.sdk import arguments, models
from dueline.sdk.client import Client
from dueline.sdk.endpoints import Endpoint, ListEndpoint, Resource, Routed
from dueline.wire.jobs import JobInput
from dueline.wire.pages import Page
from dueline.wire.runs import AdhocInput

# The simple endpoints say the same in fewer words, for programs that have no client.
ROUTES = [route for route in ALL_ROUTES if route not in simple.ROUTES]
CLIENT = Client("http://127.0.0.1:8700", api_key="")
RESOURCES = {name: value for name, value in vars(CLIENT).items() if isinstance(value, Resource)}


def methods() -> Iterator[tuple[str, Routed[..., Any]]]:
    for resource in RESOURCES.values():
        for name, method in vars(type(resource)).items():
            if isinstance(method, Endpoint | ListEndpoint):
                yield f"{type(resource).__name__}.{name}", method


METHODS = dict(methods())


def named(method: Routed[..., Any]) -> tuple[str, str]:
    return method.method, method.path


def test_every_route_has_a_method_and_no_other() -> None:
    assert {named(method) for method in METHODS.values()} == {(route.method, route.path) for route in ROUTES}


def test_nothing_is_said_in_two_ways() -> None:
    assert len({named(method) for method in METHODS.values()}) == len(METHODS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_listed_or_called_and_read_as_it_answers(route: ApiRoute) -> None:
    (method, *_) = [method for method in METHODS.values() if named(method) == (route.method, route.path)]
    call = method.call(None, *_arguments(method))
    assert call.kind() == (NoneType if route.response is None else route.response)
    assert isinstance(method, ListEndpoint) == (getattr(route.response, "__origin__", None) is Page)
    offered = {"cursor", *call.query} if isinstance(method, ListEndpoint) and route.query else set(call.query)
    assert offered == set(route.query)
    assert len(call.names) == route.path.count("{")
    assert call.repeatable == route.repeatable


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_says_what_it_does(name: str) -> None:
    assert METHODS[name].__doc__


def test_the_keywords_are_the_fields_of_the_api() -> None:
    said = {"url", "method", "headers", "body", "task", "args", "timezone"}
    assert set(arguments.JobFields.__annotations__) - said == set(JobInput.__struct_encode_fields__)
    assert set(arguments.RunFields.__annotations__) | {"timezone"} == {*AdhocInput.__struct_encode_fields__} | said


def test_the_models_are_all_there() -> None:
    answered = {route.response for route in ROUTES if isinstance(route.response, type)}
    listed = {route.response.__args__[0] for route in ROUTES if hasattr(route.response, "__args__")}
    shapes = {shape for shape in answered | listed if issubclass(shape, msgspec.Struct)}
    assert {shape.__name__ for shape in shapes} <= set(models.__all__)


def test_methods_look_as_they_are_written() -> None:
    signature = inspect.signature(CLIENT.jobs.pause)
    assert list(signature.parameters) == ["job_id", "note", "if_version"]
    assert (CLIENT.jobs.pause.__name__, CLIENT.jobs.pause.__doc__) == ("pause", METHODS["Jobs.pause"].__doc__)


def _arguments(method: Routed[..., Any]) -> list[Any]:
    """A text for every parameter without a default, and an empty list where one is needed."""
    parameters = list(inspect.signature(method._build).parameters.values())[1:]
    positional = [one for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.POSITIONAL_ONLY)]
    required = [one for one in positional if one.default is one.empty]
    return [[] if one.name in ("jobs", "runs", "results") else "x" for one in required]
