"""Keys when a server starts: nobody may find it open, and whoever starts the first one on this machine has a key to it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from dueline.config import Settings, is_loopback
from dueline.domain.access import GIVEN_KEY, KeyRefused, KeyRole, id_of
from dueline.domain.errors import Invalid
from dueline.domain.job import DEFAULT_TENANT
from dueline.engine.keyring import Keyring
from dueline.runtime.keyfiles import keep_key, kept_keys
from dueline.runtime.log import get_log

log = get_log(__name__)


class FirstKey(msgspec.Struct, frozen=True):
    """A key that was just made, because there was none."""

    text: str
    given: bool
    """Whether somebody thought of it, and so knows it."""


async def first_key(keyring: Keyring, settings: Settings) -> FirstKey | None:
    """Make the first key if there is none; Invalid where that would leave a server on the network that nobody has a key to."""
    given = settings.admin_key
    wrong = None if given is None else _wrong_with(given)
    if wrong is not None:
        if await _is_first(keyring):
            raise Invalid(("admin_key", wrong))
        return None
    if given is None and not is_loopback(settings.host):
        if await _is_first(keyring):
            raise Invalid(
                (
                    "host",
                    f"{settings.host} can be reached from the network, and there are no API keys yet: "
                    "set DUELINE_ADMIN_KEY for the first start, or make one with: dueline db key",
                )
            )
        return None
    text = await keyring.create_first(given)
    return None if text is None else FirstKey(text, given is not None)


async def keep(keyring: Keyring, settings: Settings, port: int, first: FirstKey | None) -> Path | None:
    """Leave the key where commands find it, for a server that only this machine reaches. A server that has keys already gets the one that
    was left before, if that still opens it, perhaps at another port. Answers where it is."""
    if not is_loopback(settings.host):
        return None
    text = first.text if first else await _left_before(keyring, settings)
    if text is None:
        return None
    try:
        return keep_key(settings.key_dir, port, text)
    except OSError as error:
        log.warning("key not kept", folder=str(settings.key_dir), reason=str(error))
        return None


async def _left_before(keyring: Keyring, settings: Settings) -> str | None:
    for text in kept_keys(settings.key_dir):
        with suppress(KeyRefused):
            caller = await keyring.caller(text)
            if caller.governs and caller.key.role is KeyRole.ADMIN:
                return text
    return None


def _wrong_with(given: str) -> str | None:
    """Why it cannot be a key, if so."""
    if not GIVEN_KEY.fullmatch(given):
        return "must have 8 to 200 printable ASCII letters, without spaces"
    try:
        id_of(given)
    except KeyRefused:
        return "begins like a key that Dueline made, and was mistyped: its checksum is wrong"
    return None


async def _is_first(keyring: Keyring) -> bool:
    return not await keyring.page(DEFAULT_TENANT, after=None, limit=1)
