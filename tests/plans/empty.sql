-- A store before anything is in it, and the moment of all that will be. Nothing from here on makes PostgreSQL plan anew what it has planned.
-- The tables are not logged, which changes nothing about plans and spares half of the time; and nobody counts their rows by himself.
ALTER TABLE dueline.jobs SET UNLOGGED;
ALTER TABLE dueline.job_words SET UNLOGGED;
ALTER TABLE dueline.plans SET UNLOGGED;
ALTER TABLE dueline.runs SET UNLOGGED;
ALTER TABLE dueline.ledger SET UNLOGGED;

CREATE TABLE public.seeded AS SELECT dueline.now_ms() AS at_ms;
SELECT dueline.add_history_day(at_ms / 86400000 * 86400000 - day * 86400000) FROM public.seeded, generate_series(0, 2) AS day;

DO $body$
DECLARE
    uncounted regclass;
BEGIN
    FOR uncounted IN SELECT oid FROM pg_class WHERE relnamespace = 'dueline'::regnamespace AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = off)', uncounted);
    END LOOP;
END
$body$;

-- Prepare a statement under a name. It is planned when it is first run.
CREATE FUNCTION public.prepare(name text, statement text) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    EXECUTE format('PREPARE %I AS ', name) || statement;
END
$body$;

-- Run a prepared statement with arguments given as text, and answer what it did.
CREATE FUNCTION public.explain_prepared(name text, arguments text[]) RETURNS json
LANGUAGE plpgsql AS $body$
DECLARE
    listed text := (SELECT string_agg(quote_nullable(argument), ', ' ORDER BY place) FROM unnest(arguments) WITH ORDINALITY AS a (argument, place));
    answer json;
BEGIN
    EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE %I', name) || coalesce('(' || listed || ')', '') INTO answer;
    RETURN answer;
END
$body$;

-- How a prepared statement is to be run, whatever its arguments.
CREATE FUNCTION public.plan_of(name text) RETURNS json
LANGUAGE plpgsql AS $body$
DECLARE
    arguments integer := (SELECT cardinality(s.parameter_types) FROM pg_prepared_statements AS s WHERE s.name = plan_of.name);
    answer json;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) EXECUTE %I', name) || coalesce('(' || nullif(concat_ws(', ', VARIADIC array_fill('NULL'::text, ARRAY[arguments])), '') || ')', '') INTO answer;
    RETURN answer;
END
$body$;
