-- Candidates of semantic searches for codebases that are large: the vectors of segments,
-- in a set for each codebase and fingerprint, which is a partition with an index of its
-- own. An index needs one dimension; a set is of one.

-- +goose Up
CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE nearest_sets (
    tenant      text COLLATE "C" NOT NULL,
    id          bigint GENERATED ALWAYS AS IDENTITY,
    codebase    text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    dimension   integer NOT NULL,
    indexed     boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, codebase, fingerprint)
);

-- The segments all of whose vectors a set has.
CREATE TABLE nearest_segments (
    tenant  text COLLATE "C" NOT NULL,
    set     bigint NOT NULL,
    segment bigint NOT NULL,
    PRIMARY KEY (tenant, set, segment)
);

CREATE TABLE nearest (
    tenant  text COLLATE "C" NOT NULL,
    set     bigint NOT NULL,
    segment bigint NOT NULL,
    chunk   bigint NOT NULL,
    vector  halfvec NOT NULL,
    PRIMARY KEY (tenant, set, segment, chunk)
) PARTITION BY LIST (set);

-- +goose StatementBegin
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['nearest_sets', 'nearest_segments', 'nearest']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = current_setting(''freshet.tenant'', true))', name);
    END LOOP;
    -- The role of the application may not make tables; these functions of the owner do what
    -- it needs for the sets of its tenant and nothing else. They find the tables where they
    -- themselves stand, whatever their caller's search path.
    EXECUTE format($f$
        CREATE FUNCTION nearest_open(codebase text, fingerprint text, dimension integer) RETURNS bigint
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = %1$I, %2$I, pg_temp AS $body$
        DECLARE made bigint;
        BEGIN
            INSERT INTO nearest_sets (tenant, codebase, fingerprint, dimension)
                VALUES (current_setting('freshet.tenant'), nearest_open.codebase, nearest_open.fingerprint, nearest_open.dimension)
                ON CONFLICT DO NOTHING RETURNING id INTO made;
            IF made IS NULL THEN
                SELECT id INTO STRICT made FROM nearest_sets AS s WHERE s.tenant = current_setting('freshet.tenant')
                    AND s.codebase = nearest_open.codebase AND s.fingerprint = nearest_open.fingerprint;
            ELSE
                EXECUTE format('CREATE TABLE nearest_%%s PARTITION OF nearest FOR VALUES IN (%%s)', made, made);
                EXECUTE format('ALTER TABLE nearest_%%s ENABLE ROW LEVEL SECURITY', made);
            END IF;
            RETURN made;
        END $body$ $f$, current_schema(), (SELECT nspname FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'vector'));
    EXECUTE format($f$
        CREATE FUNCTION nearest_index(made bigint) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = %1$I, %2$I, pg_temp SET statement_timeout = 0 AS $body$
        DECLARE wide integer;
        BEGIN
            SELECT s.dimension INTO STRICT wide FROM nearest_sets AS s
                WHERE s.tenant = current_setting('freshet.tenant') AND s.id = made FOR UPDATE;
            EXECUTE format('CREATE INDEX IF NOT EXISTS nearest_%%s_hnsw ON nearest_%%s
                USING hnsw ((vector::halfvec(%%s)) halfvec_cosine_ops)', made, made, wide);
            UPDATE nearest_sets AS s SET indexed = true WHERE s.tenant = current_setting('freshet.tenant') AND s.id = made;
        END $body$ $f$, current_schema(), (SELECT nspname FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'vector'));
    EXECUTE format($f$
        CREATE FUNCTION nearest_drop(made bigint) RETURNS void
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = %1$I, pg_temp AS $body$
        BEGIN
            DELETE FROM nearest_sets AS s WHERE s.tenant = current_setting('freshet.tenant') AND s.id = made;
            IF FOUND THEN
                DELETE FROM nearest_segments AS s WHERE s.tenant = current_setting('freshet.tenant') AND s.set = made;
                EXECUTE format('DROP TABLE nearest_%%s', made);
            END IF;
        END $body$ $f$, current_schema());
END $$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION nearest_open(text, text, integer), nearest_index(bigint), nearest_drop(bigint) FROM PUBLIC;

-- +goose Down
DROP FUNCTION nearest_open(text, text, integer), nearest_index(bigint), nearest_drop(bigint);
DROP TABLE nearest, nearest_segments, nearest_sets;
