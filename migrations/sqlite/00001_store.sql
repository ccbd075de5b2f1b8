-- The embedded store. Columns named body end in a checksum of the row's key and value.
-- Paths and hashes are raw bytes. Times are nanoseconds since 1970.

-- +goose Up
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    body BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE codebases (
    key  INTEGER PRIMARY KEY AUTOINCREMENT,
    id   TEXT NOT NULL UNIQUE,
    root BLOB NOT NULL UNIQUE,
    body BLOB NOT NULL
);

CREATE TABLE recipes (
    fingerprint TEXT PRIMARY KEY,
    body        BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE snapshots (
    codebase INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (codebase, number)
) WITHOUT ROWID;

-- A row holds for the snapshots first <= number < last; last is the largest integer while
-- the row is that of the latest snapshot.
CREATE TABLE manifest (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (codebase, path, first)
) WITHOUT ROWID;
CREATE INDEX manifest_first ON manifest (codebase, first);
CREATE INDEX manifest_last ON manifest (codebase, last) WHERE last < 9223372036854775807;

CREATE TABLE stats (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (codebase, path)
) WITHOUT ROWID;

-- A content is size bytes from start of what its frame holds.
CREATE TABLE contents (
    id     INTEGER PRIMARY KEY,
    hash   BLOB NOT NULL UNIQUE,
    size   INTEGER NOT NULL,
    frame  INTEGER NOT NULL,
    start  INTEGER NOT NULL,
    put_at INTEGER NOT NULL
);

-- The first byte of data says how the rest is compressed; size is what it unpacks to. An id
-- is never used twice.
CREATE TABLE frames (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    size INTEGER NOT NULL,
    data BLOB NOT NULL
);

-- Versions of syntaxes and keys of embeddings, kept once.
CREATE TABLE names (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- texts are the text hashes of the chunks, one after the other; body is the rest.
CREATE TABLE syntaxes (
    id      INTEGER PRIMARY KEY,
    content BLOB NOT NULL,
    version INTEGER NOT NULL,
    texts   BLOB NOT NULL,
    body    BLOB NOT NULL,
    UNIQUE (content, version)
);

CREATE TABLE vectors (
    id        INTEGER PRIMARY KEY,
    embedding INTEGER NOT NULL,
    text      BLOB NOT NULL,
    body      BLOB NOT NULL,
    UNIQUE (embedding, text)
);

CREATE TABLE embedded (
    embedding INTEGER NOT NULL,
    syntax    INTEGER NOT NULL,
    body      BLOB NOT NULL,
    PRIMARY KEY (embedding, syntax)
) WITHOUT ROWID;

CREATE TABLE segments (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    body BLOB NOT NULL
);

-- The file ordinals of a segment that snapshots from since on do not have.
CREATE TABLE dead (
    segment INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    body    BLOB NOT NULL,
    PRIMARY KEY (segment, since)
) WITHOUT ROWID;

CREATE TABLE failures (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    content  BLOB NOT NULL,
    stage    TEXT NOT NULL,
    version  TEXT NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (codebase, path, content, stage, version)
) WITHOUT ROWID;

CREATE TABLE outbox (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    codebase TEXT NOT NULL,
    snapshot INTEGER NOT NULL,
    part     INTEGER NOT NULL,
    body     BLOB NOT NULL,
    UNIQUE (codebase, snapshot, part)
);

PRAGMA user_version = 1;

-- +goose Down
DROP TABLE outbox;
DROP TABLE failures;
DROP TABLE dead;
DROP TABLE segments;
DROP TABLE embedded;
DROP TABLE vectors;
DROP TABLE syntaxes;
DROP TABLE names;
DROP TABLE frames;
DROP TABLE contents;
DROP TABLE stats;
DROP TABLE manifest;
DROP TABLE snapshots;
DROP TABLE recipes;
DROP TABLE codebases;
DROP TABLE meta;

PRAGMA user_version = 0;
