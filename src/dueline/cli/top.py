"""`dueline top`: a dashboard in the terminal."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from dueline.cli.connecting import connect
from dueline.cli.exits import BAD_INPUT
from dueline.cli.frames import frame_lines
from dueline.cli.overview import Overview, Overviews
from dueline.cli.screen import Screen
from dueline.cli.tables import WIDTH_PIPED
from dueline.cli.watching import AWAY, WATCH_S_MAX
from dueline.domain.instants import format_instant
from dueline.domain.texts import CONTROL
from dueline.runtime.clock import Clock, SystemClock

INTERVAL_S_DEFAULT = 2.0
INTERVAL_S_MIN = 0.5
TIMEOUT_S = 5.0
"""For each question. A frame that is late is worse than one that tells so."""
_QUIT = frozenset("qQ\x03\x04")


def register(app: typer.Typer) -> None:
    app.command()(top)


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one frame, and end.")] = False,
    interval: Annotated[
        float,
        typer.Option(
            "--interval", metavar="SECONDS", min=INTERVAL_S_MIN, max=WATCH_S_MAX, help="How long a frame is shown."
        ),
    ] = INTERVAL_S_DEFAULT,
) -> None:
    """Show queues, processes and failures, drawn anew every two seconds. q or Ctrl-C ends it.

    \b
    Examples:
      dueline top
      dueline top --once
    """
    if not once and not sys.stdout.isatty():
        typer.echo("Error: this is no terminal: say --once to print one frame.", err=True)
        raise typer.Exit(BAD_INPUT)
    clock = SystemClock()
    with connect(timeout_s=TIMEOUT_S) as client:
        overviews, url = Overviews(client, clock), client.driver.pool.address.url
        first = overviews.read()
        if once:
            _print_once(first, url, clock)
            return
        try:
            with Screen() as screen:
                _draw_on_and_on(screen, overviews, first, url, clock, interval_s=interval)
        except KeyboardInterrupt:
            return


def _draw_on_and_on(
    screen: Screen, overviews: Overviews, overview: Overview, url: str, clock: Clock, *, interval_s: float
) -> None:
    """Until somebody quits. A server that is away is waited for, with what was seen last in view."""
    trouble, read_s = "", clock.monotonic_s()
    while True:
        columns, lines = screen.size
        screen.draw(
            frame_lines(
                overview,
                title=f"{_title(url, clock)}   q quits",
                trouble=trouble,
                columns=columns,
                lines=lines,
                colour=True,
                now_ms=clock.wall_ms(),
            )
        )
        if not _QUIT.isdisjoint(screen.wait(read_s + interval_s - clock.monotonic_s())):
            return
        if clock.monotonic_s() < read_s + interval_s:
            # A key, or another size: the same is drawn again.
            continue
        try:
            overview, trouble = overviews.read(), ""
        except AWAY as error:
            trouble = f"No answer: {CONTROL.sub('�', str(error))}"
        read_s = clock.monotonic_s()


def _print_once(overview: Overview, url: str, clock: Clock) -> None:
    """As wide as the terminal, and as wide as it takes elsewhere; all of it in either."""
    colour = sys.stdout.isatty()
    columns = os.get_terminal_size(sys.stdout.fileno()).columns if colour else WIDTH_PIPED
    now_ms = clock.wall_ms() if colour else None
    for line in frame_lines(
        overview, title=_title(url, clock), trouble="", columns=columns, lines=None, colour=colour, now_ms=now_ms
    ):
        typer.echo(line)


def _title(url: str, clock: Clock) -> str:
    return f"dueline top   {url}   {format_instant(clock.wall_ms())}"
