"""What is read as a cron expression, what it means, and how the rest is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain.cron import check_cron, next_second_after
from dueline.domain.crontab import MACROS, Crontab, compiled, read
from dueline.domain.errors import InvalidSchedule

NOW_MS = 1_767_225_600_000
SEED = b"job"


def checked(expression: str) -> str:
    return check_cron(expression, "UTC", now_ms=NOW_MS).expression


def reason(expression: str) -> str:
    with pytest.raises(InvalidSchedule) as refused:
        check_cron(expression, "UTC", now_ms=NOW_MS, seed=SEED)
    ((field, why),) = refused.value.problems
    assert field == "schedule.cron"
    return why


@pytest.mark.parametrize(("macro", "expression"), MACROS.items())
def test_a_macro_stands_for_its_expression(macro: str, expression: str) -> None:
    assert checked(macro) == expression
    assert checked(f" {macro.upper()} ") == expression


def test_space_between_the_fields_does_not_matter() -> None:
    assert checked("  0\t9  * *\n1-5 ") == "0 9 * * 1-5"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("* * * * *", "0 * * * * *"),
        ("*/15 * * * *", "0,15,30,45 * * * *"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        ("5-5/15 * * * *", "5 * * * *"),
        ("1-10/3,50 * * * *", "1,4,7,10,50 * * * *"),
        ("*/90 * * * *", "0 * * * *"),
        ("0 0 1 jan,Mar-MAY *", "0 0 1 1,3,4,5 *"),
        ("0 0 * * mon-FRI", "0 0 * * 1,2,3,4,5"),
        ("0 0 * * FRI-MON", "0 0 * * 5,6,0,1"),
        ("0 0 * * 6-1", "0 0 * * 6,0,1"),
        ("0 0 * * 5-7", "0 0 * * 5,6,0"),
        ("0 0 * * 7-2", "0 0 * * 0,1,2"),
        ("0 0 * * 0-7", "0 0 * * *"),
        ("0 0 * * SAT-SUN", "0 0 * * 6,0"),
        ("0 0 * * FRI-TUE/2", "0 0 * * 5,0,2"),
        ("0 0 * * 7", "0 0 * * SUN"),
        ("0 0 * * 7L", "0 0 * * SUNL"),
        ("0 0 * * 7#1", "0 0 * * sun#1"),
        ("0 0 ? * MON", "0 0 * * MON"),
        ("0 0 1 * ?", "0 0 1 * *"),
        ("0 0 l-0 * *", "0 0 L * *"),
        ("0 0 0 1 1 * *", "0 0 0 1 1 *"),
        ("0 0 0 1 1 * 2027-2029", "0 0 0 1 1 * 2027,2028,2029"),
    ],
)
def test_two_spellings_mean_the_same(one: str, other: str) -> None:
    assert compiled(one) == compiled(other)


@pytest.mark.parametrize(
    ("expression", "interval_like"),
    [
        ("0 * * * *", True),
        ("0 */2 * * *", True),
        ("0 1/2 * * *", True),
        ("0 9,*/6 * * *", True),
        ("30 0 */2 * * *", True),
        ("* 2 * * *", False),
        ("*/5 0-23 * * *", False),
        ("0 0-23/2 * * *", False),
        ("* * 2 * * *", False),
        ("0 9 * * *", False),
    ],
)
def test_a_pattern_follows_real_time_when_its_hour_counts_on(expression: str, interval_like: bool) -> None:
    assert compiled(expression).interval_like is interval_like


@pytest.mark.parametrize(
    ("expression", "both"),
    [
        ("0 0 13 * FRI", False),
        ("0 0 */2 * FRI", True),
        ("0 0 13 * */2", True),
        ("0 0 ? * FRI", True),
        ("0 0 L * 5L", False),
    ],
)
def test_a_day_fits_both_fields_if_one_begins_with_a_star_and_else_either(expression: str, both: bool) -> None:
    assert compiled(expression).days.both is both


@pytest.mark.parametrize(
    ("expression", "field", "column", "hint"),
    [
        ("61 * * * *", "minute", 1, "not between 0 and 59"),
        ("* 24 * * *", "hour", 3, "not between 0 and 23"),
        ("* * 0 * *", "day-of-month", 5, "not between 1 and 31"),
        ("* * 1,2,32 * *", "day-of-month", 9, "'32' is not between 1 and 31"),
        ("* * * 13 *", "month", 7, "not between 1 and 12"),
        ("* * * FOO *", "month", 7, "no number and no name"),
        ("* * * * 8", "day-of-week", 9, "not between 0 and 7"),
        ("  *   *  * * 8", "day-of-week", 14, "not between 0 and 7"),
        ("60 * * * * *", "second", 1, "not between 0 and 59"),
        ("0 0 0 1 1 * 1969", "year", 13, "not between 1970 and 2199"),
        ("0 0 0 1 1 * H", "year", 13, "cannot be hashed"),
        ("*/0 * * * *", "minute", 1, "a step of 1 or more"),
        ("1,*/ * * * *", "minute", 3, "a step of 1 or more"),
        ("*/2/3 * * * *", "minute", 1, "a step of 1 or more"),
        ("5-1 * * * *", "minute", 1, "runs backwards"),
        ("* * * NOV-FEB *", "month", 7, "runs backwards"),
        ("1-2-3 * * * *", "minute", 1, "no number"),
        ("-1 * * * *", "minute", 1, "no number"),
        ("1,,2 * * * *", "minute", 3, "no number"),
        ("? * * * *", "minute", 1, "may stand alone in day-of-month or day-of-week only"),
        ("* * ?/2 * *", "day-of-month", 5, "may stand alone"),
        ("* * L-31 * *", "day-of-month", 5, "0 to 30 days"),
        ("* * 1-15W * *", "day-of-month", 5, "no number"),
        ("* * 32W * *", "day-of-month", 5, "not between 1 and 31"),
        ("* * * * L", "day-of-week", 9, "needs the day"),
        ("* * * * MON#6", "day-of-week", 9, "1 to 5"),
        ("* * * * MON#0", "day-of-week", 9, "1 to 5"),
        ("* * * * 1-5#2", "day-of-week", 9, "no number"),
        ("H(0-60) * * * *", "minute", 1, "not between 0 and 59"),
        ("* H(5) * * *", "hour", 3, "needs a range"),
        ("* H(0-5 * * *", "hour", 3, "is no H"),
        ("* H(5-1) * * *", "hour", 3, "runs backwards"),
        ("* * H/0 * *", "day-of-month", 5, "a step of 1 or more"),
        ("* HH * * *", "hour", 3, "is no H"),
        ("\N{ARABIC-INDIC DIGIT THREE} * * * *", "minute", 1, "no number"),
        ("* * * * \N{LATIN SMALL LETTER LONG S}un", "day-of-week", 9, "no number and no name"),
        ("* * * * *\x00", "day-of-week", 9, "no number and no name"),
        ("9" * 200 + " * * * *", "minute", 1, "not between 0 and 59"),
    ],
)  # fmt: skip
def test_a_refusal_names_the_field_the_column_and_what_would_be_right(
    expression: str, field: str, column: int, hint: str
) -> None:
    why = reason(expression)
    assert why.startswith(f"{field} at column {column}: ")
    assert hint in why
    assert "; right would be " in why
    assert len(why) < 200


@pytest.mark.parametrize(
    ("expression", "column", "count"),
    [("", 1, 0), (" ", 2, 0), ("*", 2, 1), ("* * * *", 8, 4), ("every minute", 13, 2), ("* * * * * * * *", 15, 8)],
)
def test_a_wrong_number_of_fields_is_told_with_the_right_ones(expression: str, column: int, count: int) -> None:
    assert reason(expression).startswith(f"the number of fields at column {column} is {count}, not 5 (minute hour")


@pytest.mark.parametrize(("macro", "column"), [("@never", 1), (" @reboot", 2), ("@", 1), ("@daily *", 1)])
def test_an_unknown_macro_is_told_with_the_known(macro: str, column: int) -> None:
    assert f"unknown macro {macro.strip()!r} at column {column}: use one of @yearly" in reason(macro)


@settings(max_examples=300)
@given(st.text(alphabet="0123456789*/,-#LWH()?@MONJAN ", max_size=30))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        schedule = check_cron(text, "UTC", now_ms=NOW_MS, seed=SEED)
    except InvalidSchedule:
        return
    found_ms = next_second_after(schedule.concrete, "UTC", schedule.dst_gap, schedule.dst_overlap, NOW_MS // 1000)
    assert found_ms is not None
    assert found_ms > NOW_MS


# H.


def hashed(expression: str, seed: bytes) -> Crontab:
    concrete, crontab = read(expression, seed)
    assert compiled(concrete) == crontab
    assert "H" not in concrete.replace("THU", "")
    return crontab


seeds = st.binary(max_size=16)


def test_a_hash_is_the_same_for_ever() -> None:
    # Written down: another hash would move every job that says H.
    assert read("H H H(1-7) H H", SEED)[0] == "39 12 6 7 6"
    assert read("H H/15 H(9-17)/2 * * MON,H", SEED)[0] == "58 9/15 9-17/2 * * MON,6"


@given(seeds)
def test_a_hash_lies_in_its_field(seed: bytes) -> None:
    crontab = hashed("H H H H H H", seed)
    assert (len(crontab.seconds), len(crontab.minutes), len(crontab.hours), len(crontab.months)) == (1, 1, 1, 1)
    # Every month has 28 days.
    assert crontab.days.dates < 1 << 29
    assert crontab == hashed("h h h h h h", seed)


@given(seeds)
def test_a_hash_lies_in_its_range_and_starts_its_step(seed: bytes) -> None:
    assert hashed("H(10-19) * * * *", seed).minutes[0] in range(10, 20)
    quarters = hashed("H/15 * * * *", seed).minutes
    assert quarters == tuple(range(quarters[0], 60, 15))
    assert quarters[0] in range(15)
    tens = hashed("H(0-30)/10 * * * *", seed).minutes
    assert tens == tuple(range(tens[0], 31, 10))
    assert tens[0] in range(10)
    assert hashed("0 0 * * H(FRI-MON)", seed).days.weekdays in [1 << day for day in (5, 6, 0, 1)]
    assert hashed("0 0 * * H(FRI-MON)/2", seed).days.weekdays in [1 << 5 | 1 << 0, 1 << 6 | 1 << 1]
    assert hashed("0 H/2 * * *", seed).interval_like


def test_hashes_spread_over_jobs_and_differ_between_fields() -> None:
    crontabs = [hashed("H H * * * *", bytes([number])) for number in range(250)]
    assert len({crontab.minutes for crontab in crontabs}) > 50
    assert len({crontab.seconds for crontab in crontabs}) > 50
    assert sum(crontab.minutes == crontab.seconds for crontab in crontabs) < 15


def test_what_was_asked_stays_beside_what_it_became() -> None:
    schedule = check_cron("H  9 * * mon", "UTC", now_ms=NOW_MS, seed=SEED)
    assert schedule.expression == "H 9 * * mon"
    assert schedule.concrete == schedule.hashed == read("H 9 * * mon", SEED)[0]
    assert check_cron("0 9 * * mon", "UTC", now_ms=NOW_MS, seed=SEED).hashed == ""
    with pytest.raises(InvalidSchedule, match="is not known here"):
        compiled("H * * * *")
