-- Finished runs that did not succeed: few of very many, and what people look for. One that succeeds pays a comparison.
CREATE INDEX history_unsuccessful ON history (tenant, state, id) WHERE state <> 'succeeded';
