-- What listeners are told: that runs ended, and what became of jobs. One row a move, however many it is about.

-- ids are of runs where told is 'ended', of jobs otherwise, 16 bytes each, one behind the other; versions are those of the jobs as JSON, null
-- where all are the first; state is theirs where told does not say it. The last row is never forgotten, so no number is given out twice.
CREATE TABLE changes (
    seq      INTEGER PRIMARY KEY,
    at_ms    INTEGER NOT NULL,
    told     TEXT NOT NULL,
    ids      BLOB NOT NULL,
    versions TEXT,
    state    TEXT
) STRICT;

-- Up to which number rows may be forgotten: no row where none was, one otherwise.
CREATE TABLE change_sweeps (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    swept INTEGER NOT NULL
) STRICT;

-- notifies is whether somebody may want to be told of the run's end; null where nobody does.
ALTER TABLE runs ADD COLUMN notifies INTEGER;
-- Whether there are any: as a rule there are none.
CREATE INDEX runs_notifies ON runs (id) WHERE notifies;

-- Ends that somebody may have to be told of, until that is seen to.
CREATE TABLE notices (
    run_id BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;
