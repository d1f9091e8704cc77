"""Methods that are written once, for threads and for coroutines.

A method of a resource says what is called, and never waits. Looked up on the resource of a client, it becomes a function with the same
parameters that makes the call and answers what came of it: at once for a `Client`, to be awaited for an `AsyncClient`, as plain JSON
for a `PlainClient`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import cache, partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

import msgspec

from dueline.sdk.calls import Call
from dueline.sdk.drivers import Driver, Listing, PlainDriver, PlainListing, SyncDriver
from dueline.sdk.flows import Operation
from dueline.wire.pages import Page

if TYPE_CHECKING:
    from dueline.sdk.async_client import AsyncDriver, AsyncListing

A = TypeVar("A")
D = TypeVar("D", bound=Driver)
P = ParamSpec("P")
T = TypeVar("T")


class Resource(Generic[D]):
    """Calls about one kind of thing."""

    def __init__(self, driver: D) -> None:
        self.driver = driver


class Routed(Generic[P, A]):
    """What calls one route: its method and path, and how the call is built from arguments. Its answer is read as what `build` says that it
    answers."""

    def __init__(self, route: str, build: Callable[Concatenate[Any, P], Call[A]], *, repeatable: bool = False) -> None:
        self.method, _, self.path = route.partition(" ")
        self.repeatable = repeatable
        self._build = build
        self._answers: str = build.__annotations__["return"]
        self.__doc__ = build.__doc__

    def call(self, resource: Any, *args: P.args, **kwargs: P.kwargs) -> Call[A]:
        """What would be called; Invalid for arguments that can never work."""
        call = self._build(resource, *args, **kwargs)
        return msgspec.structs.replace(
            call,
            method=self.method,
            path=self.path,
            repeatable=self.repeatable,
            kind=partial(_kind, self._answers),
            is_text=self._answers == "Call[str]",
        )


class Endpoint(Routed[P, T]):
    """A method that makes one call."""

    @overload
    def __get__(self, resource: None, owner: Any) -> Endpoint[P, T]: ...
    @overload
    def __get__(self, resource: Resource[PlainDriver], owner: Any) -> Callable[P, Any]: ...
    @overload
    def __get__(self, resource: Resource[SyncDriver], owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncDriver], owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        if resource is None:
            return self

        @wraps(MethodType(self._build, resource))
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return resource.driver.call(self.call(resource, *args, **kwargs))

        return method


class ListEndpoint(Routed[P, Page[T]], Generic[P, T]):
    """A method that lists things, page by page."""

    @overload
    def __get__(self, resource: None, owner: Any) -> ListEndpoint[P, T]: ...
    @overload
    def __get__(self, resource: Resource[PlainDriver], owner: Any) -> Callable[P, PlainListing]: ...
    @overload
    def __get__(self, resource: Resource[SyncDriver], owner: Any) -> Callable[P, Listing[T]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncDriver], owner: Any) -> Callable[P, AsyncListing[T]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        if resource is None:
            return self

        @wraps(MethodType(self._build, resource))
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return resource.driver.list_all(self.call(resource, *args, **kwargs))

        return method


class Composed(Generic[P, T]):
    """A method that makes several calls, one after the other."""

    def __init__(self, build: Callable[Concatenate[Any, P], Operation[T]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, resource: None, owner: Any) -> Composed[P, T]: ...
    @overload
    def __get__(self, resource: Resource[PlainDriver], owner: Any) -> Callable[P, Any]: ...
    @overload
    def __get__(self, resource: Resource[SyncDriver], owner: Any) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncDriver], owner: Any) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, resource: Any, owner: Any) -> Any:
        if resource is None:
            return self

        @wraps(MethodType(self._build, resource))
        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return resource.driver.operate(self._build(resource, *args, **kwargs))

        return method


def endpoint(
    route: str, *, repeatable: bool = False
) -> Callable[[Callable[Concatenate[Any, P], Call[T]]], Endpoint[P, T]]:
    """Make a method call a route, such as `GET /v1/jobs/{id}`. `repeatable`: done twice, it comes to the same without a key."""
    return lambda build: Endpoint(route, build, repeatable=repeatable)


def listing(route: str) -> Callable[[Callable[Concatenate[Any, P], Call[Page[T]]]], ListEndpoint[P, T]]:
    """Make a method list what a route has."""
    return lambda build: ListEndpoint(route, build)


def composed(build: Callable[Concatenate[Any, P], Operation[T]]) -> Composed[P, T]:
    """Make a method of a generator that asks for calls and pauses."""
    return Composed(build)


@cache
def _kind(answers: str) -> Any:
    """The shape that an annotation such as `Call[Page[RunView]]` names."""
    # Imported here: shapes take longest to load, and whoever passes JSON on needs none.
    from dueline.sdk import models

    return get_args(eval(answers, {**vars(models), "Any": Any, "Call": Call}))[0]
