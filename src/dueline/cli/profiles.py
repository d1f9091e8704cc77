"""`dueline profile …`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dueline.cli import options
from dueline.cli.connecting import chosen_profile, read_key
from dueline.cli.naming import propose_profiles
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_table
from dueline.cli.profile_file import check_name, read_profiles, write_profiles
from dueline.config import checked_url, profile_file
from dueline.domain.errors import Conflict

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the profile.", autocompletion=propose_profiles)]


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the server, such as production.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Its address.")],
    api_key_file: Annotated[
        Path | None, typer.Option("--api-key-file", help="A file with its API key, - for standard input.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of a profile of that name.")] = False,
) -> None:
    """Remember a server by a name. The first is used from then on; the key is kept in a file that only you can read.

    \b
    Examples:
      dueline profile add local http://127.0.0.1:8700
      dueline profile add production https://dueline.example.com --api-key-file key.txt
    """
    path = profile_file()
    profiles = read_profiles(path)
    if check_name(name) in profiles.servers and not replace:
        raise Conflict(f"there is a profile {name} already: say --replace to have this in its place")
    values = {"url": checked_url(url, field="URL")}
    if api_key_file is not None:
        values["api_key"] = read_key(api_key_file)
    profiles = profiles.having(name, values)
    write_profiles(path, profiles)
    used = (
        "commands use it"
        if profiles.current == name
        else f"commands use {profiles.current}: dueline profile use {name}"
    )
    typer.echo(f"Added {name}; {used}.", err=True)


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the profiles by name, and which of them is used. Keys are not shown.

    \b
    Example:
      dueline profile list
    """
    used = chosen_profile()
    items = [
        {
            "name": name,
            "url": values["url"],
            "has_key": "api_key" in values,
            "used": used is not None and name == used.name,
        }
        for name, values in sorted(read_profiles(profile_file()).servers.items())
    ]
    if output is not Output.TABLE:
        print_data({"items": items}, output)
        return
    print_table(
        ["NAME", "USED", "KEY", "URL"],
        [(one["name"], *("yes" if one[name] else "no" for name in ("used", "has_key")), one["url"]) for one in items],
        uncut=["NAME", "URL"],
    )


@app.command()
def use(name: Name) -> None:
    """Have commands use a profile when nobody names another.

    \b
    Example:
      dueline profile use production
    """
    path = profile_file()
    write_profiles(path, read_profiles(path).using(name))
    typer.echo(f"Commands use {name}.", err=True)


@app.command()
def remove(name: Name, yes: options.Yes = False) -> None:
    """Forget a server, and its key.

    \b
    Example:
      dueline profile remove production
    """
    path = profile_file()
    profiles = read_profiles(path)
    known = profiles.get(name).values
    if not yes:
        confirm(f"Forget the profile {name} of {known['url']}{', with its API key' if 'api_key' in known else ''}?")
    write_profiles(path, profiles.without(name))
    typer.echo(f"Removed {name}.", err=True)
