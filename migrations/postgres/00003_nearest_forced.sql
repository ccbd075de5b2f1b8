-- The partitions of candidates hold their owner to its tenant as all other tables do. They
-- are reached by way of their table, whose policy counts then; they have none of their own,
-- so that by their own names they show nobody a row.

-- +goose Up
-- +goose StatementBegin
DO $$
DECLARE partition regclass;
BEGIN
    FOR partition IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'nearest'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', partition);
    END LOOP;
    EXECUTE format($f$
        CREATE OR REPLACE FUNCTION nearest_open(codebase text, fingerprint text, dimension integer) RETURNS bigint
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
                EXECUTE format('ALTER TABLE nearest_%%s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', made);
            END IF;
            RETURN made;
        END $body$ $f$, current_schema(), (SELECT nspname FROM pg_extension JOIN pg_namespace AS n ON n.oid = extnamespace WHERE extname = 'vector'));
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE partition regclass;
BEGIN
    FOR partition IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'nearest'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', partition);
    END LOOP;
    EXECUTE format($f$
        CREATE OR REPLACE FUNCTION nearest_open(codebase text, fingerprint text, dimension integer) RETURNS bigint
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
END $$;
-- +goose StatementEnd
