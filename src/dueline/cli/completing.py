"""`dueline completion`: what a shell needs to complete commands, options and the names of jobs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # what its own options print

_VARIABLE = "_DUELINE_COMPLETE"
"""By which the shell asks the command what may come next."""


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    app.command()(completion)


def completion(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print what a shell needs to complete commands, options and the names of jobs.

    \b
    Examples:
      dueline completion bash > ~/.local/share/bash-completion/completions/dueline
      dueline completion zsh > ~/.zfunc/_dueline
      dueline completion fish > ~/.config/fish/completions/dueline.fish
    """
    typer.echo(get_completion_script(prog_name="dueline", complete_var=_VARIABLE, shell=shell.value))
