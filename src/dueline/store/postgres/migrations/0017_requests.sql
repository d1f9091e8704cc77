-- Requests with a key of their caller's: what was asked, and what was answered, so that asking again changes nothing.

-- Written in the transaction of what it asked for; the answer follows, and status is null until then. about is the id of the one thing that was
-- made or changed, or empty. Bodies are deflated.
CREATE TABLE dueline.requests (
    tenant   text COLLATE "C" NOT NULL,
    endpoint text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    digest   bytea NOT NULL,
    about    bytea NOT NULL,
    asked_ms bigint NOT NULL,
    status   smallint,
    headers  text,
    body     bytea,
    PRIMARY KEY (tenant, endpoint, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- What to forget next.
CREATE INDEX requests_asked ON dueline.requests (asked_ms);
