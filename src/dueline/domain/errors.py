"""Errors, each named after what its receiver can do about it."""

from __future__ import annotations

from collections.abc import Collection


class DuelineError(Exception):
    """The base of every error that Dueline raises on purpose."""


class Invalid(DuelineError):
    """The caller sent something that can never work: correct the named fields and send it again."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__("; ".join(f"{field}: {reason}" for field, reason in problems))
        self.problems = problems


class InvalidSchedule(Invalid):
    """The schedule cannot be understood, or would never fire."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__((field, reason))


class NotFound(DuelineError):
    """No such thing, or not the caller's to see."""

    def __init__(self, noun: str, name: str) -> None:
        super().__init__(f"no {noun} {name}")
        self.noun = noun


class Conflict(DuelineError):
    """The thing is not in a state that allows this: read it again, then decide. Where single fields are why, `problems` names them."""

    def __init__(self, reason: str, *problems: tuple[str, str]) -> None:
        super().__init__(reason)
        self.problems = problems


class NamesTaken(Conflict):
    """Of jobs that were to be written all or none, these have names that are taken. None was written."""

    def __init__(self, job_ids: Collection[bytes]) -> None:
        super().__init__(f"{len(job_ids)} names are taken")
        self.job_ids = frozenset(job_ids)


class AskedBefore(DuelineError):
    """The request in hand was carried out before, or is by another at this moment: its answer is that of the other. Nothing was done."""


class VersionMismatch(DuelineError):
    """Somebody else changed the job first: read it again, then decide."""

    def __init__(self, *, expected: int, actual: int) -> None:
        super().__init__(f"the job is at version {actual}, not {expected}")


class Misused(DuelineError):
    """Called like this it could not keep its promise: correct the program."""


class OverQuota(DuelineError):
    """The tenant would have, or do, more than it may: make room, wait as long as it says, or have the quota raised."""

    def __init__(self, quota: str, *, limit: int, used: int, asked: int, retry_after_s: int | None = None) -> None:
        wait = "" if retry_after_s is None else f"; there is room in {retry_after_s} s"
        super().__init__(f"the quota {quota} is {limit}: {used} used, {asked} more asked for{wait}")
        self.quota = quota
        self.limit = limit
        self.used = used
        self.retry_after_s = retry_after_s
        """None where waiting does not help."""


class LeaseLost(DuelineError):
    """This process was declared dead: stop everything, start again under a new boot id."""


class StoreUnavailable(DuelineError):
    """The store cannot be reached right now. Whether the last write took effect is unknown: read it again."""


class StoreInUse(StoreUnavailable):
    """Another process has the store, which is for one: leave it to that one, or only look."""


class StoreMoved(StoreUnavailable):
    """Everything that the store held lives elsewhere now: stop, and start again with the address that it names."""

    def __init__(self, address: str) -> None:
        super().__init__(f"the jobs of this store were moved to {address}: start with --db {address}")
        self.address = address


class SchemaRefused(DuelineError):
    """The store holds a schema this program must not touch: it is newer, damaged, or not Dueline's."""
