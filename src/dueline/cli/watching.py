"""`--watch`: a command that only looks, carried out again and again."""

from __future__ import annotations

import inspect
import io
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Annotated, Any

import typer

from dueline.cli.arguments import WATCH_S_DEFAULT
from dueline.cli.exits import report
from dueline.cli.output import A_LINE_EACH
from dueline.cli.screen import Screen
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.runtime.clock import SystemClock
from dueline.sdk.errors import Unavailable, Unreachable

WATCH_S_MIN = 0.1
"""Ten times a second is more than anybody sees, and a server has others to answer."""
WATCH_S_MAX = 86_400.0
AWAY = (Unreachable, Unavailable)
"""What may be over the next time."""
_AWAY_LINE = "\nNo answer at the last look: "
_QUIT = ("q", "Q", "\x03", "\x04")

Watch = Annotated[
    float | None,
    typer.Option(
        "--watch",
        metavar="[SECONDS]",
        min=WATCH_S_MIN,
        max=WATCH_S_MAX,
        help=f"Look again every so many seconds, {WATCH_S_DEFAULT} if none are given; q or Ctrl-C ends it.",
    ),
]


def watchable(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that only looks the option `--watch`."""
    signature = inspect.signature(command, eval_str=True)
    added = inspect.Parameter("watch", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Watch)
    parameters = [*signature.parameters.values(), added]

    def run(watch: float | None = None, **values: Any) -> None:
        if watch is None:
            command(**values)
        else:
            look_again(lambda: command(**values), every_s=watch)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(run)["__signature__"] = signature.replace(parameters=parameters)
    return run


def look_again(look: Callable[[], None], *, every_s: float) -> None:
    """On a terminal each look takes the place of the one before; elsewhere they follow one another. A server that is away for a while is
    waited for, once it has answered; anything else ends the command as it would without watching."""
    try:
        if sys.stdout.isatty():
            _redraw(look, every_s)
        else:
            _append(look, every_s)
    except KeyboardInterrupt:
        return


def _redraw(look: Callable[[], None], every_s: float) -> None:
    shown = _seen(look)
    try:
        with Screen() as screen:
            while True:
                screen.draw([f"Every {every_s:g} s, at {_now()}. q quits.", "", *shown.splitlines()])
                if any(key in _QUIT for key in screen.wait(every_s)):
                    break
                try:
                    shown = _seen(look)
                except AWAY as error:
                    kept = shown.partition(_AWAY_LINE)[0]
                    shown = f"{kept}{_AWAY_LINE}{CONTROL.sub('�', str(error))}"
    finally:
        # What was seen last stays, on the page where the command was typed.
        sys.stdout.write(shown.partition(_AWAY_LINE)[0])
        sys.stdout.flush()


def _append(look: Callable[[], None], every_s: float) -> None:
    wait = threading.Event().wait
    with _a_line_each():
        look()
        while True:
            sys.stdout.flush()
            wait(every_s)
            try:
                look()
            except AWAY as error:
                report(error)


def _seen(look: Callable[[], None]) -> str:
    """What a look prints, to stdout and then to stderr, as the terminal would get it."""
    out, err = _Page(), _Page()
    with redirect_stdout(out), redirect_stderr(err):
        look()
    return out.getvalue() + err.getvalue()


class _Page(io.StringIO):
    """Takes what goes to the terminal, with its colours and in its width."""

    def isatty(self) -> bool:
        return True


@contextmanager
def _a_line_each() -> Iterator[None]:
    token = A_LINE_EACH.set(True)
    try:
        yield
    finally:
        A_LINE_EACH.reset(token)


def _now() -> str:
    return format_instant(SystemClock().wall_ms())
