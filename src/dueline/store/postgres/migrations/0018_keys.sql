-- API keys: who may call, and what for.

-- Of the key itself a digest is kept. Revoked ones stay, so that people see what became of them.
CREATE TABLE dueline.api_keys (
    id         text COLLATE "C" PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    role       text NOT NULL,
    name       text NOT NULL,
    digest     bytea NOT NULL,
    created_ms bigint NOT NULL,
    expires_ms bigint,
    revoked_ms bigint
);
-- Those of a tenant, page by page.
CREATE INDEX api_keys_page ON dueline.api_keys (tenant, id);
