"""`dueline key …`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_page, print_table, show
from dueline.cli.watching import watchable
from dueline.domain.access import KeyRole
from dueline.domain.instants import parse_instant
from dueline.runtime.clock import SystemClock

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

app = typer.Typer()

KEYS_PER_PAGE = 500

Id = Annotated[str, typer.Argument(metavar="ID", help="The id of the key.")]
Tenant = Annotated[str | None, typer.Option(help="Whose: your own tenant without it.")]


@app.command()
def create(
    role: Annotated[KeyRole, typer.Option(help="What it may do.")],
    name: Annotated[str, typer.Option(help="What you know it by.")] = "",
    tenant: Tenant = None,
    expires_at: Annotated[str | None, typer.Option(help="When it ends, such as 2027-01-01T00:00:00Z.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a key. It is shown this once: keep it well.

    \b
    Examples:
      dueline key create --role writer --name deploys
      dueline key create --role admin --tenant acme --expires-at 2027-01-01T00:00:00Z
    """
    with connect() as client:
        show(client.keys.create(role, name=name, tenant=tenant, expires_at=expires_at), output)


@app.command("list")
@watchable
def list_(
    tenant: Tenant = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the keys of a tenant, by id.

    \b
    Example:
      dueline key list
    """
    with connect() as client:
        page = read_page(client.keys.list, limit=limit, cursor=cursor, everything=all_, tenant=tenant)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["ID", "ROLE", "NAME", "CREATED", "EXPIRES", "REVOKED"],
        [
            tuple(one[field] for field in ("id", "role", "name", "created_at", "expires_at", "revoked_at"))
            for one in page["items"]
        ],
        uncut=["ID"],
        times=["CREATED", "EXPIRES", "REVOKED"],
    )
    print_page(page)


@app.command()
@watchable
def get(key_id: Id, output: OutputOption = Output.TABLE) -> None:
    """Show a key, without what opens anything.

    \b
    Example:
      dueline key get 4k7d2mzq5xw3vnpa
    """
    with connect() as client:
        show(client.keys.get(key_id), output)


@app.command()
def revoke(key_id: Id, yes: options.Yes = False, output: OutputOption = Output.TABLE) -> None:
    """Have a key open nothing any more, anywhere, within 5 seconds. Asks first, and warns where it locks somebody out.

    \b
    Example:
      dueline key revoke 4k7d2mzq5xw3vnpa
    """
    with connect() as client:
        key = client.keys.get(key_id)
        for warning in _warnings(client, key):
            typer.echo(f"Warning: {warning}", err=True)
        if not yes:
            named = f"{key['name']} ({key_id})" if key["name"] else key_id
            confirm(f"Revoke the key {named}, of the role {key['role']} and the tenant {key['tenant']}, for good?")
        show(client.keys.revoke(key_id), output)


def _warnings(client: PlainClient, key: dict[str, Any]) -> Iterator[str]:
    """Who is locked out by it, besides those who are meant to be."""
    if client.keys.caller()["key_id"] == key["id"]:
        yield "this command uses the key itself, and so may others that find it where this one did."
    if key["role"] != KeyRole.ADMIN or not _opens(key):
        return
    others = client.keys.list(tenant=key["tenant"], page_size=KEYS_PER_PAGE)
    if not any(other["role"] == KeyRole.ADMIN and other["id"] != key["id"] and _opens(other) for other in others):
        yield (
            f"this is the last admin key of the tenant {key['tenant']}: nobody in it can make another. "
            "Make one before, or later with: dueline db key"
        )


def _opens(key: dict[str, Any]) -> bool:
    """Whether it still opens something, as far as this machine's clock can tell."""
    if key["revoked_at"] is not None:
        return False
    ends = key["expires_at"]
    return ends is None or parse_instant(ends, field="expires_at") > SystemClock().wall_ms()


@app.command()
def whoami(output: OutputOption = Output.TABLE) -> None:
    """Show whose key this command uses.

    \b
    Example:
      dueline key whoami
    """
    with connect() as client:
        show(client.keys.caller(), output)
