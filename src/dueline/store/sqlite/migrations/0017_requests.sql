-- Requests with a key of their caller's: what was asked, and what was answered, so that asking again changes nothing.

-- Written in the transaction of what it asked for; the answer follows, and status is null until then. about is the id of the one thing that was
-- made or changed, or empty. Bodies are deflated.
CREATE TABLE requests (
    tenant   TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    key      TEXT NOT NULL,
    digest   BLOB NOT NULL,
    about    BLOB NOT NULL,
    asked_ms INTEGER NOT NULL,
    status   INTEGER,
    headers  TEXT,
    body     BLOB,
    PRIMARY KEY (tenant, endpoint, key)
) STRICT;
-- What to forget next.
CREATE INDEX requests_asked ON requests (asked_ms);
