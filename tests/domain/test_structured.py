"""Named fields and the cron expressions they mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.crontab import read
from dueline.domain.errors import InvalidSchedule
from dueline.domain.structured import structured_to_cron

FIELD = "schedule.calendar"


@pytest.mark.parametrize(
    ("fields", "cron"),
    [
        ({"hour": 9}, "0 9 * * *"),
        ({"hour": 9, "minute": 30}, "30 9 * * *"),
        ({"hour": 9, "days_of_week": "MON-FRI"}, "0 9 * * MON-FRI"),
        ({"hour": [9, 17], "minute": 0}, "0 9,17 * * *"),
        ({"hour": "9-17/2"}, "0 9-17/2 * * *"),
        ({"minute": 15}, "15 * * * *"),
        ({"minute": "*/15"}, "*/15 * * * *"),
        ({"minute": "H"}, "H * * * *"),
        ({"second": 30}, "30 * * * * *"),
        ({"second": "*/10", "hour": 9}, "*/10 0 9 * * *"),
        ({"second": "*/10", "days_of_week": "MON"}, "*/10 * * * * MON"),
        ({"minute": "*/15", "days_of_week": "MON-FRI"}, "*/15 * * * MON-FRI"),
        ({"second": 0, "hour": 9}, "0 9 * * *"),
        ({"second": 0, "minute": 0, "hour": 9}, "0 9 * * *"),
        ({"hour": "*"}, "0 * * * *"),
        ({"date": 15}, "0 0 15 * *"),
        ({"date": "L", "hour": 23, "minute": 30}, "30 23 L * *"),
        ({"date": [1, "L"]}, "0 0 1,L * *"),
        ({"date": "1, 15".replace(" ", "")}, "0 0 1,15 * *"),
        ({"days_of_week": "MON"}, "0 0 * * MON"),
        ({"days_of_week": ["monday", "Thursday"], "hour": 8}, "0 8 * * mon,Thu"),
        ({"days_of_week": "Monday-Friday", "hour": 8}, "0 8 * * Mon-Fri"),
        ({"days_of_week": 7}, "0 0 * * 7"),
        ({"days_of_week": [0, 6]}, "0 0 * * 0,6"),
        ({"days_of_week": "FRIL", "hour": 17}, "0 17 * * FRIL"),
        ({"days_of_week": "MON#2"}, "0 0 * * MON#2"),
        ({"date": "*", "days_of_week": "MON"}, "0 0 * * MON"),
        ({"date": 13, "days_of_week": "?"}, "0 0 13 * ?"),
        ({"month": 6}, "0 0 1 6 *"),
        ({"month": "december", "date": 24, "hour": 18}, "0 18 24 dec *"),
        ({"month": "JUN-AUG", "hour": 9}, "0 9 * JUN-AUG *"),
        ({"month": 6, "days_of_week": "MON"}, "0 0 * 6 MON"),
        ({"year": 2027}, "0 0 0 1 1 * 2027"),
        ({"year": 2027, "hour": 9}, "0 0 9 * * * 2027"),
        ({"year": 2026, "month": 12, "date": 24, "hour": 18, "minute": 5}, "0 5 18 24 12 * 2026"),
        ({"year": "2026-2028", "days_of_week": "SUN"}, "0 0 0 * * SUN 2026-2028"),
        ({"hour": " 9 "}, "0 9 * * *"),
    ],
)
def test_fields_become_cron(fields: dict[str, Any], cron: str) -> None:
    assert structured_to_cron(fields, field=FIELD) == cron
    read(cron, b"")


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({}, FIELD, "has no fields"),
        ({"hours": 9}, f"{FIELD}.hours", "did you mean 'hour'?"),
        ({"day_of_week": 1}, f"{FIELD}.day_of_week", "did you mean 'days_of_week'?"),
        ({"zzz": 1}, f"{FIELD}.zzz", "the fields are year, month, date, days_of_week, hour, minute, second"),
        ({"hour": 24}, f"{FIELD}.hour", "at column 1: '24' is not between 0 and 23; right would be 9, */2 or 9-17"),
        ({"hour": [9, 30]}, f"{FIELD}.hour", "at column 3: '30' is not between 0 and 23"),
        ({"minute": -1}, f"{FIELD}.minute", "at column 1: '-1' is no number"),
        ({"date": 0}, f"{FIELD}.date", "at column 1: '0' is not between 1 and 31"),
        ({"month": "JAM"}, f"{FIELD}.month", "at column 1: 'JAM' is no number and no name"),
        ({"days_of_week": "MON-FRY"}, f"{FIELD}.days_of_week", "at column 1: 'MON-FRY' is no number and no name"),
        ({"year": 1900}, f"{FIELD}.year", "at column 1: '1900' is not between 1970 and 2199"),
        ({"hour": "9 17"}, f"{FIELD}.hour", "'9 17' is no number, no text in cron's syntax without spaces"),
        ({"hour": ""}, f"{FIELD}.hour", "'' is no number"),
        ({"hour": []}, f"{FIELD}.hour", "'[]' is no number"),
        ({"hour": [[9]]}, f"{FIELD}.hour", "'[[9]]' is no number"),
        ({"hour": True}, f"{FIELD}.hour", "'True' is no number"),
        ({"hour": 9.5}, f"{FIELD}.hour", "'9.5' is no number"),
        ({"hour": None}, f"{FIELD}.hour", "'None' is no number"),
        ({"minute": list(range(60)) * 3}, FIELD, "is longer than 256 letters"),
        ({"date": 13, "days_of_week": "FRI"}, f"{FIELD}.days_of_week", "cron cannot say: it would take either"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_own_field(fields: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        structured_to_cron(fields, field=FIELD)
    [(told, why)] = raised.value.problems
    assert told == field
    assert reason in why


NUMBERS = st.integers(-1, 61) | st.sampled_from(["*", "*/2", "1-5", "L", "MON", "H", "?", "1 2", "", "*,*"])


@given(
    st.dictionaries(
        st.sampled_from(["year", "month", "date", "hour", "minute", "second", "days_of_week"]),
        NUMBERS | st.lists(NUMBERS, max_size=3),
    )
)
def test_what_is_not_refused_is_cron(fields: dict[str, Any]) -> None:
    try:
        cron = structured_to_cron(fields, field=FIELD)
    except InvalidSchedule:
        return
    read(cron, b"")
