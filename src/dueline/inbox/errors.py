"""Why a delivery is not taken."""

from __future__ import annotations

from dueline.domain.errors import DuelineError


class Rejected(DuelineError):
    """The call is not a delivery of the expected Dueline: do nothing, and answer with 401."""


class MissingHeader(Rejected):
    def __init__(self, name: str) -> None:
        super().__init__(f"the header {name} is missing")
        self.name = name


class MalformedHeader(Rejected):
    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the header {name} {reason}")
        self.name = name


class WrongSignature(Rejected):
    """No signature is by one of the secrets, or what was signed is not what arrived."""

    def __init__(self) -> None:
        super().__init__("no signature is by one of the secrets over this body")


class OutOfTime(Rejected):
    """It was signed too long ago, or too far in the future: somebody plays it again, or a clock is wrong."""

    def __init__(self, *, late_s: float) -> None:
        super().__init__(f"it was signed {abs(late_s):.0f} s {'ago' if late_s > 0 else 'from now'}")
        self.late_s = late_s
