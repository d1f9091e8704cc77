"""A schedule as named fields, `{"hour": 9, "days_of_week": "MON-FRI"}`, and the cron expression that it means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn

from dueline.domain import limits
from dueline.domain.crontab import read
from dueline.domain.errors import InvalidSchedule

Value = int | str | Sequence[int | str]

_FINEST_FIRST = ("second", "minute", "hour", "date", "month", "year")
_FIELDS = ("year", "month", "date", "days_of_week", "hour", "minute", "second")
_FIRST = {"second": "0", "minute": "0", "hour": "0", "date": "1", "month": "1"}
_CRON_ORDER = ("second", "minute", "hour", "date", "month", "days_of_week", "year")
_WHOLE_NAME = re.compile(
    r"\b(JAN)UARY|(FEB)RUARY|(MAR)CH|(APR)IL|(JUN)E|(JUL)Y|(AUG)UST|(SEP)TEMBER|(OCT)OBER|(NOV)EMBER|(DEC)EMBER"
    r"|(SUN)DAY|(MON)DAY|(TUE)SDAY|(WED)NESDAY|(THU)RSDAY|(FRI)DAY|(SAT)URDAY\b",
    re.IGNORECASE,
)
_PLACE = re.compile(r"^.* at column (\d+): ")


def structured_to_cron(fields: Mapping[str, Value], *, field: str) -> str:
    """The cron expression of named fields: 5 fields, 6 with seconds, 7 with a year.

    Each value is a number, cron's syntax for that field, or a list of those. Fields finer than the finest that is given are at their
    first value, and the others that are absent match always: an hour alone is that hour sharp on every day, a month alone the first
    of it at midnight. Beside an hour, an absent minute is 0 whatever the seconds say. Everything given must match, so a date and days
    of the week together, of which cron takes either, are refused.
    """
    for name in fields:
        if name not in _FIELDS:
            near = get_close_matches(name, _FIELDS, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(_FIELDS)}"
            raise InvalidSchedule(f"{field}.{name}", f"is no field of a structured schedule; {advice}")
    texts = {name: _text(fields[name], f"{field}.{name}") for name in _FIELDS if name in fields}
    if not texts:
        raise InvalidSchedule(field, 'has no fields; right would be {"hour": 9, "minute": 30}')
    for name, text in texts.items():
        _check(name, text, f"{field}.{name}")
    if not _either_is_open(texts):
        raise InvalidSchedule(
            f"{field}.days_of_week",
            "goes with a date only where both must match, which cron cannot say: it would take either; leave one out, or use "
            'a rule such as "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR"',
        )
    cron = _written(texts)
    if len(cron) > limits.WHEN_LETTERS_MAX:
        raise InvalidSchedule(
            field, f"is longer than {limits.WHEN_LETTERS_MAX} letters as the cron expression it means"
        )
    return cron


def _text(value: Value, field: str) -> str:
    """A value in cron's syntax."""
    if isinstance(value, bool) or not isinstance(value, int | str | list | tuple):
        _refuse(field, value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        text = _WHOLE_NAME.sub(lambda match: match[match.lastindex or 0], value.strip())
        if not text or re.search(r"\s", text):
            _refuse(field, value)
        return text
    if not value or any(isinstance(one, list | tuple) for one in value):
        _refuse(field, value)
    return ",".join(_text(one, field) for one in value)


def _refuse(field: str, value: object) -> NoReturn:
    raise InvalidSchedule(
        field, f"{str(value)[:40]!r} is no number, no text in cron's syntax without spaces, and no list of those"
    )


def _check(name: str, text: str, field: str) -> None:
    """Refuse a field by its own name, and count columns from its own beginning."""
    words = [text if one == name else "*" for one in _CRON_ORDER]
    before = 2 * _CRON_ORDER.index(name)
    try:
        read(" ".join(words), b"")
    except InvalidSchedule as error:
        reason = error.problems[0][1]
        place = _PLACE.match(reason)
        assert place is not None, "a bad field has a place"
        raise InvalidSchedule(field, f"at column {int(place[1]) - before}: {reason[place.end() :]}") from None


def _either_is_open(texts: Mapping[str, str]) -> bool:
    return any(texts.get(name, "*")[0] in "*?" for name in ("date", "days_of_week"))


def _written(texts: Mapping[str, str]) -> str:
    """The fields in cron's order, with what stands for those that are absent."""
    given = [rank for rank, name in enumerate(_FINEST_FIRST) if name in texts]
    if "days_of_week" in texts:
        given.append(_FINEST_FIRST.index("date"))
    words = {name: _FIRST[name] for name in _FINEST_FIRST[: min(given)]} | dict(texts)
    if "hour" in texts:
        words.setdefault("minute", _FIRST["minute"])
    second, *rest = (words.get(name, "*") for name in _CRON_ORDER)
    if "year" not in texts:
        rest.pop()
        return " ".join(rest if second == "0" else (second, *rest))
    return " ".join((second, *rest))
