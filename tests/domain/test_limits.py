"""The bounds make sense together."""

from dueline.domain import limits
from dueline.domain.instants import INSTANT_MS_MAX
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.planning import Misfire
from dueline.domain.retry import RetryPolicy


def test_every_bound_is_a_positive_number() -> None:
    bounds = {name: value for name, value in vars(limits).items() if name.isupper()}
    assert bounds
    for name, value in bounds.items():
        assert isinstance(value, int | float), name
        assert value > 0, name


def test_a_lease_bears_some_lost_beats() -> None:
    assert limits.LEASE_S - limits.LEASE_MARGIN_S > 2 * limits.BEAT_S
    assert 0 < limits.LEASE_MARGIN_S < limits.LEASE_S / 2


def test_a_failover_ends_before_its_occurrences_count_as_missed() -> None:
    failover_s = limits.LEASE_S + limits.ROSTER_S
    assert failover_s < 10
    assert failover_s * 1000 < limits.MISFIRE_GRACE_MS


def test_polling_alone_is_quick_enough_for_a_start_within_a_second() -> None:
    assert limits.POLL_S * 1000 < limits.AHEAD_MS
    assert limits.OUTCOME_GROUP_S < limits.POLL_S
    assert limits.WAKEUP_GAP_S < limits.POLL_S


def test_what_the_first_leaves_undone_is_made_ready_in_time_by_the_others() -> None:
    assert limits.GATHER_S * 1000 < limits.YIELD_MS
    assert limits.YIELD_MS + limits.POLL_S * 1000 < limits.AHEAD_MS
    assert limits.SWEEP_S < limits.SWEEP_OTHERS_S


def test_the_look_ahead_is_no_longer_than_the_finest_schedule() -> None:
    assert limits.AHEAD_MS <= limits.EVERY_MS_MIN


def test_one_pass_plans_all_that_may_be_late_of_the_finest_schedule() -> None:
    late = (limits.MISFIRE_GRACE_MS + limits.AHEAD_MS) // limits.EVERY_MS_MIN + 1
    assert late <= limits.OCCURRENCES_PER_PASS_MAX


def test_defaults_lie_within_their_bounds() -> None:
    assert limits.TIMEOUT_MS_MIN <= limits.TIMEOUT_MS_DEFAULT <= limits.TIMEOUT_MS_MAX
    assert limits.PAGE_ROWS_DEFAULT <= limits.PAGE_ROWS_MAX
    assert limits.MISFIRE_CAP <= limits.MISFIRE_CAP_MAX
    assert Misfire().cap == limits.MISFIRE_CAP
    retry = RetryPolicy()
    assert 1 <= retry.max_attempts <= limits.ATTEMPTS_MAX
    assert retry.base_ms <= retry.cap_ms <= limits.RETRY_CAP_MS_MAX
    assert retry.max_lost <= limits.LOST_ASKED_MAX
    assert Execution(target=HttpTarget(url="http://target/")).timeout_ms == limits.TIMEOUT_MS_DEFAULT


def test_the_window_for_missed_occurrences_reaches_past_the_grace() -> None:
    assert limits.MISFIRE_GRACE_MS < limits.MISFIRE_WINDOW_MS


def test_a_request_holds_a_payload_and_a_response_is_kept_as_far_as_it_is_read() -> None:
    assert limits.PAYLOAD_BYTES_MAX < limits.BODY_BYTES_MAX
    assert limits.RESPONSE_KEPT_BYTES <= limits.RESPONSE_READ_BYTES


def test_the_rarest_date_is_found() -> None:
    # 29 February on a given weekday comes again within 28 years, and within 40 where a leap year is left out.
    assert limits.SEARCH_YEARS >= 40


def test_instants_fit_the_48_bits_of_an_id() -> None:
    assert INSTANT_MS_MAX < 1 << 48


def test_shards_are_taken_in_more_than_one_pass_but_not_many() -> None:
    assert 2 <= limits.SHARDS / limits.SHARDS_TAKEN_PER_PASS <= 8


def test_a_task_that_does_not_stop_is_reported_before_the_sweeper_ends_it() -> None:
    assert limits.TASK_GRACE_S * 1000 < limits.TIMEOUT_GRACE_MS / 2


def test_a_message_to_a_task_holds_a_payload_and_a_checkpoint() -> None:
    largest = limits.PAYLOAD_BYTES_CEILING + limits.CHECKPOINT_BYTES_MAX + limits.RESPONSE_KEPT_BYTES
    assert largest < limits.TASK_FRAME_BYTES_MAX
