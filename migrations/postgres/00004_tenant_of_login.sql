-- A login of a tenant's own cannot name another tenant: the policies ask for the tenant that
-- schema_logins gives to the role that connected, which SET ROLE does not change. A login
-- that does not stand there is shared, and names its tenant in the setting freshet.tenant as
-- before.

-- +goose Up
CREATE TABLE schema_logins (
    login  text PRIMARY KEY,
    tenant text NOT NULL
);
-- +goose StatementBegin
DO $$
DECLARE held record;
DECLARE changed regprocedure;
BEGIN
    EXECUTE format($f$
        CREATE FUNCTION session_tenant() RETURNS text
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = %1$I, pg_temp AS $body$
            SELECT coalesce((SELECT l.tenant FROM schema_logins AS l WHERE l.login = session_user), current_setting('freshet.tenant', true))
        $body$ $f$, current_schema());
    FOR held IN SELECT tablename FROM pg_policies WHERE schemaname = current_schema() AND policyname = 'tenant'
    LOOP
        EXECUTE format('ALTER POLICY tenant ON %I USING (tenant = (SELECT session_tenant()))', held.tablename);
    END LOOP;
    FOREACH changed IN ARRAY ARRAY['nearest_open(text, text, integer)', 'nearest_index(bigint)', 'nearest_drop(bigint)']::regprocedure[]
    LOOP
        EXECUTE replace(pg_get_functiondef(changed), 'current_setting(''freshet.tenant'')', 'session_tenant()');
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE held record;
DECLARE changed regprocedure;
BEGIN
    FOREACH changed IN ARRAY ARRAY['nearest_open(text, text, integer)', 'nearest_index(bigint)', 'nearest_drop(bigint)']::regprocedure[]
    LOOP
        EXECUTE replace(pg_get_functiondef(changed), 'session_tenant()', 'current_setting(''freshet.tenant'')');
    END LOOP;
    FOR held IN SELECT tablename FROM pg_policies WHERE schemaname = current_schema() AND policyname = 'tenant'
    LOOP
        EXECUTE format('ALTER POLICY tenant ON %I USING (tenant = current_setting(''freshet.tenant'', true))', held.tablename);
    END LOOP;
END $$;
-- +goose StatementEnd
DROP FUNCTION session_tenant();
DROP TABLE schema_logins;
