"""Ids: text and bytes stand for each other, and ids sort by time."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.errors import Invalid
from dueline.domain.ids import (
    ENTROPY_BYTES,
    JobId,
    RunId,
    first_id_at,
    id_ms,
    job_text,
    new_job_id,
    new_run_id,
    new_run_ids,
    occurrence_run_id,
    parse_job_id,
    parse_run_id,
    run_text,
    run_texts,
)

LAST_MS = (1 << 48) - 1
ids = st.binary(min_size=16, max_size=16)
moments = st.integers(0, LAST_MS)
entropies = st.binary(min_size=ENTROPY_BYTES, max_size=ENTROPY_BYTES)

# The first is the specification's own example of an id, the next four are from its file of valid ones.
VECTORS = [
    ("01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"),
    ("00000000000000000000000000", "00000000-0000-0000-0000-000000000000"),
    ("00000000000000000000000001", "00000000-0000-0000-0000-000000000001"),
    ("0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"),
    ("7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
]


@pytest.mark.parametrize(("text", "uuid"), VECTORS)
def test_text_is_as_typeid_has_it(text: str, uuid: str) -> None:
    identifier = UUID(uuid).bytes
    assert job_text(identifier) == f"job_{text}"
    assert run_text(identifier) == f"run_{text}"
    assert parse_job_id(f"job_{text}") == identifier
    assert parse_run_id(f"run_{text}") == identifier


@given(ids)
def test_text_and_bytes_stand_for_each_other(identifier: bytes) -> None:
    assert parse_job_id(job_text(identifier)) == identifier
    assert parse_run_id(run_text(identifier)) == identifier


@given(ids, ids)
def test_texts_sort_as_their_ids_do(one: bytes, other: bytes) -> None:
    assert (job_text(one) < job_text(other)) == (one < other)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "job",
        "job_",
        "_01h455vb4pex5vsknk084sn02q",
        "01h455vb4pex5vsknk084sn02q",
        "run_01h455vb4pex5vsknk084sn02q",
        "JOB_01h455vb4pex5vsknk084sn02q",
        "job-01h455vb4pex5vsknk084sn02q",
        "job__01h455vb4pex5vsknk084sn02q",
        "a_job_01h455vb4pex5vsknk084sn02q",
        "job_01h455vb4pex5vsknk084sn02",
        "job_01h455vb4pex5vsknk084sn02qq",
        "job_01H455VB4PEX5VSKNK084SN02Q",
        "job_81h455vb4pex5vsknk084sn02q",
        "job_z1h455vb4pex5vsknk084sn02q",
        "job_01h455vb4pex5vsknk084sn02i",
        "job_01h455vb4pex5vsknk084sn02l",
        "job_01h455vb4pex5vsknk084sn02o",
        "job_01h455vb4pex5vsknk084sn02u",
        "job_01h455vb4pex5vsknk084sn02\x00",
        "job_01h455vb4pex5vsknk084sn02é",
        "job_\N{ARABIC-INDIC DIGIT ZERO}1h455vb4pex5vsknk084sn02q",
        " job_01h455vb4pex5vsknk084sn02q",
        "job_01h455vb4pex5vsknk084sn02q\n",
        "01890a5d-ac96-774b-bcce-b302099a8057",
    ],
)
def test_other_text_is_refused_by_the_name_of_its_field(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_job_id(text, field="jobs[3].id")
    assert [field for field, _ in refused.value.problems] == ["jobs[3].id"]


@given(st.text(max_size=40))
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        identifier = parse_run_id(text)
    except Invalid:
        return
    assert run_text(identifier) == text


@given(moments, entropies)
def test_a_new_id_is_a_uuid_of_version_7(at_ms: int, entropy: bytes) -> None:
    for identifier in (new_job_id(at_ms, entropy), new_run_id(at_ms, entropy)):
        uuid = UUID(bytes=bytes(identifier))
        assert uuid.version == 7
        assert uuid.variant == "specified in RFC 4122"
        assert id_ms(identifier) == at_ms


@given(st.lists(st.tuples(moments, entropies)))
def test_ids_of_many_runs_are_those_of_each(drawn: list[tuple[int, bytes]]) -> None:
    many = new_run_ids([at_ms for at_ms, _ in drawn], b"".join(entropy for _, entropy in drawn))
    assert many == [new_run_id(at_ms, entropy) for at_ms, entropy in drawn]


@given(st.lists(ids))
def test_texts_of_many_runs_are_those_of_each(identifiers: list[bytes]) -> None:
    many = identifiers * 50
    assert run_texts(many) == [run_text(identifier) for identifier in many]


@given(moments, st.lists(entropies, min_size=2, max_size=2, unique=True))
def test_entropy_makes_the_difference_within_a_millisecond(at_ms: int, entropy: list[bytes]) -> None:
    # Six of the eighty bits belong to the version and the variant.
    free_bits = bytes([0x0F, 0xFF, 0x3F]) + b"\xff" * 7
    differ = any(a & free != b & free for a, b, free in zip(*entropy, free_bits, strict=True))
    one, other = (new_job_id(at_ms, each) for each in entropy)
    assert (one != other) == differ


@given(moments, moments, entropies, entropies)
def test_ids_sort_by_time(one_ms: int, other_ms: int, one: bytes, other: bytes) -> None:
    if one_ms != other_ms:
        assert (new_run_id(one_ms, one) < new_run_id(other_ms, other)) == (one_ms < other_ms)


@pytest.mark.parametrize("at_ms", [-1, LAST_MS + 1])
def test_a_moment_outside_the_48_bits_makes_no_id(at_ms: int) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        new_job_id(at_ms, bytes(10))
    with pytest.raises(ValueError, match="does not fit"):
        new_run_ids([5, at_ms], bytes(20))


@given(ids, moments)
def test_an_occurrence_has_one_id_whoever_computes_it(job_id: bytes, at_ms: int) -> None:
    run_id = occurrence_run_id(JobId(job_id), at_ms, "scheduled")
    assert run_id == occurrence_run_id(JobId(bytes(job_id)), at_ms, "scheduled")
    assert id_ms(run_id) == at_ms
    assert UUID(bytes=bytes(run_id)).version == 7


def test_the_id_of_an_occurrence_never_changes_between_releases() -> None:
    # Pinned: nodes of two releases must agree on it while one replaces the other.
    job_id = parse_job_id("job_01h455vb4pex5vsknk084sn02q")
    assert run_text(occurrence_run_id(job_id, 1_767_225_600_000, "scheduled")) == "run_01kdvdna00fk793e4cvqf23kb0"


def test_another_job_time_or_kind_is_another_run() -> None:
    jobs = [JobId(bytes([number]) * 16) for number in range(8)]
    moments_ms = [0, 1, 10, 11, 1_767_225_600_000, 1_767_225_600_001]
    kinds = ["scheduled", "manual", "backfill"]
    run_ids = {occurrence_run_id(job, at_ms, kind) for job in jobs for at_ms in moments_ms for kind in kinds}
    assert len(run_ids) == len(jobs) * len(moments_ms) * len(kinds)


@given(st.integers(1, LAST_MS), entropies)
def test_the_first_id_of_a_millisecond_divides_before_from_after(at_ms: int, entropy: bytes) -> None:
    bound = first_id_at(at_ms)
    assert RunId(bound) <= new_run_id(at_ms, entropy)
    assert new_run_id(at_ms - 1, entropy) < RunId(bound)


def test_the_time_before_1970_begins_with_the_first_id_of_all() -> None:
    assert first_id_at(-1) == first_id_at(0) == bytes(16)
