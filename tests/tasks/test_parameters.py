"""What functions take, and what JSON fits them."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pytest

from dueline import App, Context
from dueline.domain.errors import Invalid
from dueline.tasks.parameters import Parameters


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Customer:
    name: str
    age: int = 0

    def __post_init__(self) -> None:
        if self.age < 0:
            raise ValueError("nobody is that young")


class Address(msgspec.Struct):
    street: str


class Options(TypedDict):
    quick: bool
    note: NotRequired[str]


class Custom:
    pass


def many(
    whole: int,
    number: float,
    text: str,
    flag: bool,
    moment: datetime,
    day: date,
    span: timedelta,
    money: Decimal,
    ident: UUID,
    colour: Colour,
    choice: Literal["a", "b"],
    customer: Customer,
    address: Address,
    options: Options,
    maybe: str | None,
    numbers: list[int],
    table: dict[str, int],
    positive: Annotated[int, msgspec.Meta(gt=0)],
    anything: Any,
) -> None: ...


FITS: dict[str, tuple[Any, Any]] = {
    "whole": (1, 1),
    "number": (1, 1.0),
    "text": ("é", "é"),
    "flag": (True, True),
    "moment": ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    "day": ("2026-01-02", date(2026, 1, 2)),
    "span": ("PT90S", timedelta(seconds=90)),
    "money": ("1.50", Decimal("1.50")),
    "ident": ("12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
    "colour": ("blue", Colour.BLUE),
    "choice": ("b", "b"),
    "customer": ({"name": "a", "age": 4}, Customer("a", 4)),
    "address": ({"street": "b"}, Address("b")),
    "options": ({"quick": True}, {"quick": True}),
    "maybe": (None, None),
    "numbers": ([1, 2], [1, 2]),
    "table": ({"a": 1}, {"a": 1}),
    "positive": (1, 1),
    "anything": ([{}], [{}]),
}

DOES_NOT_FIT: list[tuple[str, Any, str]] = [
    ("whole", "1", "whole: must be a whole number, not text"),
    ("whole", 1.5, "whole: must be a whole number, not a number"),
    ("whole", None, "whole: must be a whole number, not null"),
    ("text", 5, "text: must be text, not a whole number"),
    ("flag", 1, "flag: must be true or false"),
    ("moment", "yesterday", "moment: invalid rfc3339"),
    ("day", "2026-13-01", "day: invalid"),
    ("colour", "green", "colour: must be red or blue, not 'green'"),
    ("choice", "c", "choice: must be a or b, not 'c'"),
    ("customer", {"age": 4}, "customer: "),
    ("customer", {"name": "a", "age": -1}, "customer: nobody is that young"),
    ("address", {}, "address.street: is required"),
    ("options", {}, "options: "),
    ("numbers", [1, "a"], r"numbers\[1\]: must be a whole number, not text"),
    ("table", {"a": "b"}, r"table.a: must be a whole number, not text"),
    ("positive", 0, "positive: "),
]


def test_json_becomes_what_the_annotations_ask_for() -> None:
    given = msgspec.json.encode({name: fit for name, (fit, _) in FITS.items()})
    assert Parameters(many).read(given) == ([], {name: value for name, (_, value) in FITS.items()})


@pytest.mark.parametrize(("name", "wrong", "told"), DOES_NOT_FIT)
def test_what_does_not_fit_is_told_by_its_name(name: str, wrong: Any, told: str) -> None:
    given = {each: fit for each, (fit, _) in FITS.items()} | {name: wrong}
    with pytest.raises(Invalid, match=told):
        Parameters(many).read(msgspec.json.encode(given))


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as raised:
        Parameters(many).read(b'{"whole": "x", "nubmer": 1}')
    problems = dict(raised.value.problems)
    assert problems["whole"] == "must be a whole number, not text"
    assert problems["nubmer"] == "unknown field: did you mean number?"
    assert problems["text"] == "is required"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"5", b"\xff", b'{"a": ' * 5000, b'{"whole": NaN}'])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(Invalid):
        Parameters(many).read(raw)


def test_what_is_written_can_be_read() -> None:
    parameters = Parameters(many)
    values = {name: value for name, (_, value) in FITS.items()}
    assert parameters.read(parameters.write([], values)) == ([], values)
    assert parameters.read(parameters.write(list(values.values()), {})) == ([], values)


def test_the_functions_own_defaults_count() -> None:
    default = object()

    def f(a: int, /, b: int = 2, c: list[int] = [5], *, d: Any = default, e: int = 6) -> None: ...  # noqa: B006

    parameters = Parameters(f)
    assert parameters.read(b'{"a": 1, "e": 7}') == ([1], {"e": 7})
    assert parameters.schema()["properties"] == {
        "a": {"type": "integer"},
        "b": {"type": "integer", "default": 2},
        "c": {"type": "array", "items": {"type": "integer"}, "default": [5]},
        "d": {},
        "e": {"type": "integer", "default": 6},
    }


def test_positional_only_arguments_keep_their_places() -> None:
    def f(a: int = 1, b: int = 2, /, c: int = 3) -> None: ...

    assert Parameters(f).read(b'{"b": 5}') == ([1, 5], {})
    assert Parameters(f).write([9], {"c": 4}) == b'{"a":9,"c":4}'


def annotated(context: Context, a: int) -> None: ...
def named(ctx, a: int) -> None: ...  # type: ignore[no-untyped-def]
def positional(context: "Context", /, a: int) -> None: ...


@pytest.mark.parametrize("function", [annotated, named, positional])
def test_a_context_is_no_argument(function: Callable[..., Any]) -> None:
    parameters = Parameters(function)
    assert parameters.takes_context
    assert parameters.read(b'{"a": 1}') == ([], {"a": 1})
    with pytest.raises(Invalid):
        parameters.read(b'{"ctx": 1, "a": 1}')


def test_an_argument_may_be_called_like_a_context() -> None:
    def f(ctx: str) -> None: ...

    assert Parameters(f).read(b'{"ctx": "a"}') == ([], {"ctx": "a"})


def test_a_wrapped_function_takes_what_the_inner_one_takes() -> None:
    @functools.wraps(annotated)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return annotated(*args, **kwargs)

    assert Parameters(wrapper).takes_context


def splat(*args: int) -> None: ...
def double_splat(**kwargs: int) -> None: ...
def custom(a: Custom) -> None: ...
def callback(a: Callable[[], None]) -> None: ...
def unresolved(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821
def context_second(a: int, context: Context) -> None: ...
def method(self: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (splat, r"\*args: arguments are told by name: take a list"),
        (double_splat, r"\*\*kwargs: arguments are checked by name: take a dict"),
        (custom, "a: cannot be read from JSON: type .*Custom.* is not supported"),
        (callback, "a: cannot be read from JSON"),
        (unresolved, "a: its annotation 'Nowhere' cannot be resolved .*name 'Nowhere' is not defined"),
        (context_second, "context: the context must be the first parameter"),
        (method, "self: methods are no tasks"),
    ],
)
def test_what_cannot_be_a_task_is_refused_at_decoration(function: Callable[..., Any], told: str) -> None:
    with pytest.raises(Invalid, match=told):
        App().task(function)


def test_what_is_no_plain_function_is_refused_at_decoration() -> None:
    def generator() -> Any:
        yield 1

    async def async_generator() -> Any:
        yield 1

    wrong: list[Any] = [generator, async_generator, lambda: 1, Custom, Custom(), print, functools.partial(many), 5]
    for each in wrong:
        with pytest.raises(Invalid, match="task: "):
            App().task(each)


def test_the_schema_tells_types_defaults_and_documentation() -> None:
    def send(customer: Customer, count: int = 1, colour: Colour = Colour.RED) -> None:
        """Send
        mail.

        Slowly.
        """

    schema = App().task(send).schema()
    assert schema["type"] == "object"
    assert schema["required"] == ["customer"]
    assert schema["additionalProperties"] is False
    assert schema["description"] == "Send\nmail."
    assert schema["properties"]["customer"] == {"$ref": "#/$defs/Customer"}
    assert schema["properties"]["count"] == {"type": "integer", "default": 1}
    assert schema["properties"]["colour"]["default"] == "red"
    assert schema["$defs"]["Customer"]["required"] == ["name"]
    assert App().task(annotated).schema()["properties"] == {"a": {"type": "integer"}}
