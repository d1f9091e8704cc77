"""Trust in a lease, and the silence of others."""

from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.domain.leases import LeaseTrust, Silence

A, B = BootId("a"), BootId("b")
LEASE_S, MARGIN_S = 8.0, 1.5
# Eighths of seconds, which floats hold exactly.
moments = st.integers(0, 800).map(lambda eighths: eighths / 8)


def test_nothing_is_trusted_before_the_first_renewal() -> None:
    assert not LeaseTrust().holds(0.0)
    assert not LeaseTrust().holds(-1e9)


def test_trust_ends_exactly_a_margin_before_the_lease() -> None:
    trust = LeaseTrust(lease_s=LEASE_S, margin_s=MARGIN_S)
    trust.renewed(sent_s=100.0)
    assert trust.holds(100.0)
    assert trust.holds(106.499)
    assert not trust.holds(106.5)
    assert not trust.holds(108.0)


def test_the_defaults_are_the_house_limits() -> None:
    trust = LeaseTrust()
    trust.renewed(sent_s=0.0)
    assert trust.holds(limits.LEASE_S - limits.LEASE_MARGIN_S - 0.001)
    assert not trust.holds(limits.LEASE_S - limits.LEASE_MARGIN_S)


def test_an_answer_that_overtook_another_does_not_shorten_the_trust() -> None:
    trust = LeaseTrust(lease_s=LEASE_S, margin_s=MARGIN_S)
    trust.renewed(sent_s=102.0)
    trust.renewed(sent_s=100.0)
    assert trust.holds(108.0)


def test_revoked_trust_is_gone_until_renewed() -> None:
    trust = LeaseTrust(lease_s=LEASE_S, margin_s=MARGIN_S)
    trust.renewed(sent_s=100.0)
    trust.revoke()
    assert not trust.holds(100.0)
    trust.renewed(sent_s=101.0)
    assert trust.holds(101.0)


@given(st.lists(moments, min_size=1, max_size=10), moments)
def test_trust_follows_the_latest_renewal_that_was_sent(sent_s: list[float], now_s: float) -> None:
    trust = LeaseTrust(lease_s=LEASE_S, margin_s=MARGIN_S)
    for each in sent_s:
        trust.renewed(sent_s=each)
    assert trust.holds(now_s) == (now_s < max(sent_s) + 6.5)


def test_silence_takes_a_whole_lease_before_our_own_eyes() -> None:
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    assert not silence.is_silent(A, now_s=100.0)
    silence.observe({A: 7}, now_s=104.0)
    silence.observe({A: 7}, now_s=107.999)
    assert not silence.is_silent(A, now_s=107.999)
    silence.observe({A: 7}, now_s=108.0)
    assert silence.is_silent(A, now_s=108.0)


def test_a_beat_begins_the_silence_anew() -> None:
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    silence.observe({A: 8}, now_s=107.0)
    assert not silence.is_silent(A, now_s=114.999)
    assert silence.is_silent(A, now_s=115.0)


def test_any_other_beat_counts_also_a_lower_one() -> None:
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    silence.observe({A: 6}, now_s=107.0)
    assert not silence.is_silent(A, now_s=108.0)


def test_a_process_that_is_seen_for_the_first_time_is_not_silent_however_old_its_beat() -> None:
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    silence.observe({A: 7}, now_s=104.0)
    silence.observe({A: 7, B: 1}, now_s=108.0)
    assert silence.is_silent(A, now_s=108.0)
    assert not silence.is_silent(B, now_s=108.0)


def test_eyes_that_were_shut_saw_no_silence() -> None:
    # The store was away: nobody could beat, and nobody could look.
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    silence.observe({A: 7}, now_s=104.001)
    assert not silence.is_silent(A, now_s=108.0)
    silence.observe({A: 7}, now_s=108.0)
    silence.observe({A: 7}, now_s=112.0)
    assert not silence.is_silent(A, now_s=112.0)
    assert silence.is_silent(A, now_s=112.001)


def test_one_that_was_never_registered_is_gone_already() -> None:
    assert Silence().is_silent(A, now_s=0.0)


def test_one_that_went_and_came_back_is_watched_from_its_return() -> None:
    silence = Silence(lease_s=LEASE_S)
    silence.observe({A: 7}, now_s=100.0)
    silence.observe({}, now_s=104.0)
    assert silence.is_silent(A, now_s=104.0)
    silence.observe({A: 7}, now_s=108.0)
    assert not silence.is_silent(A, now_s=109.0)


@given(st.lists(st.tuples(moments, st.integers(0, 3)), min_size=1, max_size=12))
def test_an_owner_that_trusts_itself_is_never_silent(beats: list[tuple[float, int]]) -> None:
    # The owner beats, each beat is seen some time after it was sent; the watcher looks every half second.
    trust, silence = LeaseTrust(lease_s=LEASE_S, margin_s=MARGIN_S), Silence(lease_s=LEASE_S)
    sent = sorted({at_s: at_s + delay for at_s, delay in beats}.items())
    for tick in range(220):
        now_s = tick / 2
        arrived = [number for number, (_, seen_s) in enumerate(sent) if seen_s <= now_s]
        for number in arrived:
            trust.renewed(sent_s=sent[number][0])
        silence.observe({A: max(arrived, default=-1)}, now_s=now_s)
        if trust.holds(now_s):
            assert not silence.is_silent(A, now_s=now_s)
