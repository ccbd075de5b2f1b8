-- The shared store. Every key begins with the tenant, and a policy on every table shows a
-- session no row but those of the tenant that it names in the setting freshet.tenant.
--
-- Paths, names and whatever else people choose are raw bytes, because text takes neither
-- every byte nor a NUL. Hashes are raw bytes. Times are nanoseconds since 1970, null for
-- none. Numbers without a sign keep their bits.

-- +goose Up
CREATE TABLE stores (
    tenant      text COLLATE "C" PRIMARY KEY,
    epoch       text NOT NULL,
    incarnation text NOT NULL DEFAULT '',
    sequence    bigint NOT NULL DEFAULT 0
);

CREATE TABLE codebases (
    tenant        text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    place         bytea NOT NULL,
    root          bytea NOT NULL,
    name          bytea NOT NULL,
    device        bigint NOT NULL,
    inode         bigint NOT NULL,
    registered_at bigint,
    current       bigint NOT NULL DEFAULT 0,
    latest        bigint NOT NULL DEFAULT 0,
    failure       bytea NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, place, root)
);

CREATE TABLE recipes (
    tenant      text COLLATE "C" NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (tenant, fingerprint)
);

CREATE TABLE snapshots (
    tenant      text COLLATE "C" NOT NULL,
    codebase    text COLLATE "C" NOT NULL,
    number      bigint NOT NULL,
    parent      bigint NOT NULL,
    base        bigint NOT NULL,
    fingerprint text COLLATE "C" NOT NULL,
    root        bytea NOT NULL,
    level       smallint NOT NULL DEFAULT 0,
    abandoned   boolean NOT NULL DEFAULT false,
    rebuild     boolean NOT NULL,
    opened_at   bigint,
    sealed_at   bigint,
    files       bigint NOT NULL,
    bytes       bigint NOT NULL,
    changed     bigint NOT NULL,
    pinned      boolean NOT NULL DEFAULT false,
    ref         bytea NOT NULL,
    segments    bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, codebase, number)
);

-- A row holds for the snapshots first <= number < last; last is the largest integer while
-- the row is that of the latest snapshot. A row without a content is a tombstone: it says
-- only that the path ended, for the delta of a snapshot whose base was collected.
CREATE TABLE manifest (
    tenant   text COLLATE "C" NOT NULL,
    codebase text COLLATE "C" NOT NULL,
    path     bytea NOT NULL,
    first    bigint NOT NULL,
    last     bigint NOT NULL,
    content  bytea,
    size     bigint NOT NULL,
    language bytea NOT NULL,
    flags    smallint NOT NULL,
    renamed  bytea NOT NULL,
    PRIMARY KEY (tenant, codebase, path, first)
);
CREATE INDEX manifest_first ON manifest (tenant, codebase, first);
CREATE INDEX manifest_last ON manifest (tenant, codebase, last) WHERE last < 9223372036854775807;

CREATE TABLE stats (
    tenant   text COLLATE "C" NOT NULL,
    codebase text COLLATE "C" NOT NULL,
    path     bytea NOT NULL,
    dir      boolean NOT NULL,
    size     bigint NOT NULL,
    mtime    bigint NOT NULL,
    ctime    bigint NOT NULL,
    device   bigint NOT NULL,
    inode    bigint NOT NULL,
    mode     bigint NOT NULL,
    racy     boolean NOT NULL,
    xx       bigint NOT NULL,
    content  bytea NOT NULL,
    language bytea NOT NULL,
    flags    smallint NOT NULL,
    left_out bytea NOT NULL,
    PRIMARY KEY (tenant, codebase, path)
);

-- The first byte of body says how the rest is compressed; size is what it unpacks to.
CREATE TABLE contents (
    tenant text COLLATE "C" NOT NULL,
    hash   bytea NOT NULL,
    size   bigint NOT NULL,
    put_at bigint NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, hash)
);

-- Versions of syntaxes and keys of embeddings, kept once. They are never deleted.
CREATE TABLE names (
    tenant text COLLATE "C" NOT NULL,
    id     bigint GENERATED ALWAYS AS IDENTITY,
    name   text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

-- texts are the text hashes of the chunks; body is the rest and ends in a checksum of the
-- row's key and value.
CREATE TABLE syntaxes (
    tenant  text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    version bigint NOT NULL,
    texts   bytea[] NOT NULL,
    body    bytea NOT NULL,
    PRIMARY KEY (tenant, content, version)
);

-- body is the scale and the components, byte by byte, and ends in a checksum.
CREATE TABLE vectors (
    tenant    text COLLATE "C" NOT NULL,
    embedding bigint NOT NULL,
    text      bytea NOT NULL,
    body      bytea NOT NULL,
    PRIMARY KEY (tenant, embedding, text)
);

CREATE TABLE embedded (
    tenant    text COLLATE "C" NOT NULL,
    embedding bigint NOT NULL,
    content   bytea NOT NULL,
    version   bigint NOT NULL,
    PRIMARY KEY (tenant, embedding, content, version)
);

CREATE TABLE segments (
    tenant   text COLLATE "C" NOT NULL,
    id       bigint GENERATED ALWAYS AS IDENTITY,
    codebase text COLLATE "C" NOT NULL,
    files    bigint NOT NULL,
    chunks   bigint NOT NULL,
    bytes    bigint NOT NULL,
    sum      bytea NOT NULL,
    put_at   bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

-- The bytes of a segment, cut into parts.
CREATE TABLE segment_parts (
    tenant  text COLLATE "C" NOT NULL,
    segment bigint NOT NULL,
    part    bigint NOT NULL,
    body    bytea NOT NULL,
    PRIMARY KEY (tenant, segment, part)
);

-- The file ordinals of a segment that snapshots from since on do not have.
CREATE TABLE dead (
    tenant   text COLLATE "C" NOT NULL,
    segment  bigint NOT NULL,
    since    bigint NOT NULL,
    ordinals bigint[] NOT NULL,
    PRIMARY KEY (tenant, segment, since)
);

CREATE TABLE failures (
    tenant   text COLLATE "C" NOT NULL,
    codebase text COLLATE "C" NOT NULL,
    path     bytea NOT NULL,
    content  bytea NOT NULL,
    stage    text COLLATE "C" NOT NULL,
    version  text COLLATE "C" NOT NULL,
    tries    bigint NOT NULL,
    reason   bytea NOT NULL,
    parked   boolean NOT NULL,
    at       bigint,
    PRIMARY KEY (tenant, codebase, path, content, stage, version)
);

CREATE TABLE outbox (
    tenant   text COLLATE "C" NOT NULL,
    seq      bigint GENERATED ALWAYS AS IDENTITY,
    codebase text COLLATE "C" NOT NULL,
    snapshot bigint NOT NULL,
    part     bigint NOT NULL,
    data     bytea NOT NULL,
    PRIMARY KEY (tenant, seq),
    UNIQUE (tenant, codebase, snapshot, part)
);

-- Who may act under a name, until when. The token grows with every change of hands.
CREATE TABLE leases (
    tenant text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    holder bytea NOT NULL DEFAULT '',
    token  bigint NOT NULL DEFAULT 0,
    until  bigint,
    PRIMARY KEY (tenant, name)
);

-- What agents were shown. A row whose time has passed is as good as gone.
CREATE TABLE sessions (
    tenant text COLLATE "C" NOT NULL,
    id     bytea NOT NULL,
    until  bigint NOT NULL,
    body   bytea NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_until ON sessions (tenant, until);

-- What is compressed already, or does not compress.
ALTER TABLE contents ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE syntaxes ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE vectors ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE segment_parts ALTER COLUMN body SET STORAGE EXTERNAL;

-- Forced, so that the owner of the tables is held to its tenant as well.
-- +goose StatementBegin
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['stores', 'codebases', 'recipes', 'snapshots', 'manifest', 'stats', 'contents', 'names',
        'syntaxes', 'vectors', 'embedded', 'segments', 'segment_parts', 'dead', 'failures', 'outbox', 'leases', 'sessions']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY tenant ON %I USING (tenant = current_setting(''freshet.tenant'', true))', name);
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE sessions, leases, outbox, failures, dead, segment_parts, segments, embedded, vectors, syntaxes, names, contents, stats,
    manifest, snapshots, recipes, codebases, stores;
