-- API keys: who may call, and what for.

-- Of the key itself a digest is kept. Revoked ones stay, so that people see what became of them.
CREATE TABLE api_keys (
    id         TEXT PRIMARY KEY,
    tenant     TEXT NOT NULL,
    role       TEXT NOT NULL,
    name       TEXT NOT NULL,
    digest     BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    revoked_ms INTEGER
) STRICT, WITHOUT ROWID;
-- Those of a tenant, page by page.
CREATE INDEX api_keys_page ON api_keys (tenant, id);
