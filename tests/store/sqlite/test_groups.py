"""Group commit: moves share a transaction and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.runtime.clock import ManualClock
from dueline.store.sqlite.groups import Move, Outcome, commit_together
from dueline.store.sqlite.session import Session, set_up_writer


@pytest.fixture
def session(path: Path, clock: ManualClock) -> Iterator[Session]:
    session = Session(str(path), clock)
    set_up_writer(session, str(path))
    session.rows("CREATE TABLE numbers (number INTEGER UNIQUE)")
    yield session
    session.close()


def add(number: int) -> Move:
    def move(session: Session) -> int:
        session.rows("INSERT INTO numbers VALUES (?)", number)
        session.wake(f"added/{number}")
        return number

    return move


def add_and_raise(number: int) -> Move:
    def move(session: Session) -> None:
        add(number)(session)
        raise ValueError(number)

    return move


def numbers(path: Path) -> list[int]:
    """What another connection sees: committed numbers only."""
    connection = apsw.Connection(str(path))
    found = [row[0] for row in connection.execute("SELECT number FROM numbers ORDER BY number")]
    connection.close()
    return found


def test_a_group_is_committed_at_once(session: Session, path: Path) -> None:
    seen = []

    def look(_session: Session) -> None:
        seen.extend(numbers(path))

    outcomes, topics = commit_together(session, [add(1), add(2), look])
    assert outcomes == [Outcome(1, None), Outcome(2, None), Outcome(None, None)]
    assert topics == {"added/1", "added/2"}
    assert (seen, numbers(path)) == ([], [1, 2])


def test_a_move_that_raises_is_undone_alone_and_wakes_nobody(session: Session, path: Path) -> None:
    outcomes, topics = commit_together(session, [add(1), add_and_raise(2), add(1), add(3)])
    assert [outcome.value for outcome in outcomes] == [1, None, None, 3]
    assert [type(outcome.error) for outcome in outcomes] == [type(None), ValueError, apsw.ConstraintError, type(None)]
    assert topics == {"added/1", "added/3"}
    assert numbers(path) == [1, 3]


def test_the_first_move_that_raises_is_undone_alone(session: Session, path: Path) -> None:
    outcomes, topics = commit_together(session, [add_and_raise(1), add(1), add(2)])
    assert [outcome.value for outcome in outcomes] == [None, 1, 2]
    assert (topics, numbers(path)) == ({"added/1", "added/2"}, [1, 2])


def test_moves_behind_a_long_one_are_left_for_the_next_commit(session: Session, path: Path, clock: ManualClock) -> None:
    def take_long(_session: Session) -> None:
        clock.advance(0.003)

    outcomes, topics = commit_together(session, [add(1), take_long, add(2), add(3)])
    assert outcomes == [Outcome(1, None), Outcome(None, None)]
    assert (topics, numbers(path)) == ({"added/1"}, [1])


def test_a_move_that_is_alone_is_undone_with_its_transaction(session: Session, path: Path) -> None:
    outcomes, topics = commit_together(session, [add_and_raise(1)])
    assert [type(outcome.error) for outcome in outcomes] == [ValueError]
    assert (topics, numbers(path)) == (set(), [])

    assert commit_together(session, [add(1)]) == ([Outcome(1, None)], {"added/1"})
    assert numbers(path) == [1]


def test_a_commit_that_fails_fails_for_everyone_and_the_next_group_goes_on(session: Session, path: Path) -> None:
    def refuse_to_commit(session: Session) -> None:
        session._connection.set_commit_hook(lambda: True)

    outcomes, topics = commit_together(session, [add(1), refuse_to_commit, add_and_raise(2)])
    assert [type(outcome.error) for outcome in outcomes] == [StoreUnavailable] * 3
    assert len({id(outcome.error) for outcome in outcomes}) == 3
    assert (topics, numbers(path)) == (set(), [])

    session._connection.set_commit_hook(None)
    assert commit_together(session, [add(1)])[0] == [Outcome(1, None)]
    assert numbers(path) == [1]


def test_a_transaction_that_sqlite_gave_up_is_lost_for_everyone(session: Session, path: Path) -> None:
    def break_down(session: Session) -> None:
        session.rows("ROLLBACK")
        raise apsw.IOError("disk I/O error")

    outcomes, _ = commit_together(session, [add(1), break_down, add(2)])
    assert [str(outcome.error) for outcome in outcomes] == ["SQLite: disk I/O error"] * 3
    assert numbers(path) == []


def test_a_file_that_somebody_else_locks_is_unavailable(session: Session, path: Path) -> None:
    session._connection.set_busy_timeout(0)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    outcomes, _ = commit_together(session, [add(1)])
    assert isinstance(outcomes[0].error, StoreUnavailable)
    other.execute("ROLLBACK")
    other.close()
    assert commit_together(session, [add(1)])[0] == [Outcome(1, None)]


def test_a_move_sees_one_moment(session: Session) -> None:
    class Restless(ManualClock):
        def wall_ms(self) -> int:
            self.advance(0.001)
            return super().wall_ms()

    session._clock = Restless()

    def look(session: Session) -> set[int]:
        return {session.value("SELECT now_ms()"), session.value("SELECT now_ms()"), session.now_ms}

    outcomes, _ = commit_together(session, [look, look])
    moments = [outcome.value for outcome in outcomes]
    assert [len(moment) for moment in moments] == [1, 1]
    assert moments[0] != moments[1]
