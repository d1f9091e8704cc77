"""How many calls to one host are worth having under way: as many as make it answer more.

Each connection costs something at every call: through 256 to a host that answers at once, a call takes a quarter more processor time than
through 64, and comes back no sooner. A host that takes its time needs all of them.
"""

from __future__ import annotations

PLACES_AT_FIRST = 64

SILENT_S = 0.02
"""A host that answers nothing for so long gets twice as many places unasked."""

SLOW_S = 0.1
"""So does one that takes longer than this for a call: to try it out would last too long."""

WINDOW_S = 0.025
"""The least time over which answers are counted; all that were under way at its beginning are among them."""

REST_S = 2.0
"""How long a number of places is kept after another has turned out to be no better."""

REST_WIDENED_S = 0.1
"""The same after places that were given unasked."""

_WORTH_MORE = 1.25
_WORTH_AS_MUCH = 0.85


class Width:
    """For a host where calls wait for a place; `begin` anew after a time when none did. `answered` is counted by whoever knows.

    Twice as many places are kept if they bring a quarter more answers, half of them if they bring nearly as many.
    """

    __slots__ = ("_before", "_down", "_least", "_most", "_rest_s", "_settling", "_since_s", "answered", "places")

    def __init__(self, most: int) -> None:
        self._most = most
        self._least = self.places = min(PLACES_AT_FIRST, most)
        self._down = False
        self._rest_s = 0.0
        self.begin(0.0)

    def begin(self, now_s: float) -> None:
        self._before: tuple[int, float] | None = None
        """Places and answers a second from before what is being tried."""
        self._settling = False
        self._count_anew(now_s)

    def adapt(self, now_s: float) -> None:
        """Change `places`, if it is time to."""
        passed_s = now_s - self._since_s
        if passed_s >= WINDOW_S and self.answered >= self.places:
            rate = self.answered / passed_s
            self._count_anew(now_s)
            if self._settling:
                self._settling = False  # These were answers to calls from before.
            elif self._before is not None:
                self._judge(*self._before, rate, now_s)
            elif now_s >= self._rest_s:
                self._try(rate, now_s)
        elif self.places < self._most and passed_s >= (SLOW_S if self.answered else SILENT_S):
            self.places = min(self.places * 2, self._most)
            self._down = True
            self._rest_s = now_s + (REST_WIDENED_S if self._before is None else REST_S)
            self.begin(now_s)

    def _try(self, rate: float, now_s: float) -> None:
        self._down = self._down and self.places > self._least
        places = max(self.places // 2, self._least) if self._down else min(self.places * 2, self._most)
        if places == self.places:
            self._turn_round(now_s)
            return
        self._before = (self.places, rate)
        self._settling = True
        self.places = places

    def _judge(self, places: int, rate: float, rate_now: float, now_s: float) -> None:
        self._before = None
        if rate_now < rate * (_WORTH_AS_MUCH if self._down else _WORTH_MORE):
            self.places = places
            self._turn_round(now_s)

    def _turn_round(self, now_s: float) -> None:
        self._down = not self._down
        self._rest_s = now_s + REST_S

    def _count_anew(self, now_s: float) -> None:
        self._since_s = now_s
        self.answered = 0
