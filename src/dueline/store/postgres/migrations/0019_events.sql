-- What listeners are told: that runs ended, and what became of jobs. One row a transaction, however many it is about.

-- ids are of runs where told is 'ended', of jobs otherwise; versions are those of the jobs, null where all are the first; state is theirs
-- where told does not say it. A number is given out by the statement that writes, so whoever has one has this table locked until its row can
-- be seen. The ids are not compressed, since they do not shrink.
CREATE TABLE dueline.changes (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at_ms    bigint NOT NULL,
    told     text NOT NULL,
    ids      uuid[] NOT NULL,
    versions integer[],
    state    text
);
ALTER TABLE dueline.changes ALTER COLUMN ids SET STORAGE EXTERNAL;

-- Up to which number rows may be forgotten: no row where none was, one otherwise.
CREATE TABLE dueline.change_sweeps (
    one   boolean PRIMARY KEY DEFAULT true CHECK (one),
    swept bigint NOT NULL
);

-- notifies is whether somebody may want to be told of the run's end; null where nobody does.
ALTER TABLE dueline.runs ADD COLUMN notifies boolean;

-- Ends that somebody may have to be told of, until that is seen to.
CREATE TABLE dueline.notices (
    run_id uuid PRIMARY KEY
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
