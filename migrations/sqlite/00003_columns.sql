-- What was encoded in blobs becomes columns with constraints, so that sqlite3 can read a
-- snapshot and a migration can alter one. The tables as they were stand aside as old_*;
-- the next migration, which is in Go (store/sqlitestore), decodes their rows and drops them.
--
-- sum is the checksum of the table's name and every other value of the row, in the order of
-- the columns. Paths and whatever else people choose are raw bytes. Numbers without a sign
-- keep their bits. Times are nanoseconds since 1970, null for none. Bodies that stay blobs
-- (syntaxes, vectors, marks, sessions, events) end in the checksum of their row.

-- +goose Up
DROP INDEX manifest_first;
DROP INDEX manifest_last;
ALTER TABLE meta RENAME TO old_meta;
ALTER TABLE codebases RENAME TO old_codebases;
ALTER TABLE snapshots RENAME TO old_snapshots;
ALTER TABLE manifest RENAME TO old_manifest;
ALTER TABLE stats RENAME TO old_stats;
ALTER TABLE segments RENAME TO old_segments;
ALTER TABLE dead RENAME TO old_dead;
ALTER TABLE failures RENAME TO old_failures;

-- The one row of the store: its epoch, and the place in the event log that it knows.
CREATE TABLE store (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    epoch       TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    sequence    INTEGER NOT NULL,
    sum         INTEGER NOT NULL
) STRICT;

-- Who may act under a name, until when. The token grows with every change of hands.
CREATE TABLE leases (
    name   TEXT PRIMARY KEY,
    holder BLOB NOT NULL,
    token  INTEGER NOT NULL,
    until  INTEGER,
    sum    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- level is 0 (open), 1 (text) or 2 (full); segments is a JSON array of ids.
CREATE TABLE snapshots (
    codebase    INTEGER NOT NULL,
    number      INTEGER NOT NULL CHECK (number > 0),
    parent      INTEGER NOT NULL,
    base        INTEGER NOT NULL CHECK (base < number),
    fingerprint TEXT NOT NULL,
    root        BLOB NOT NULL CHECK (length(root) = 32),
    level       INTEGER NOT NULL CHECK (level BETWEEN 0 AND 2),
    abandoned   INTEGER NOT NULL CHECK (abandoned IN (0, 1)),
    rebuild     INTEGER NOT NULL CHECK (rebuild IN (0, 1)),
    opened_at   INTEGER,
    old_at   INTEGER,
    files       INTEGER NOT NULL CHECK (files >= 0),
    bytes       INTEGER NOT NULL,
    changed     INTEGER NOT NULL CHECK (changed >= 0),
    pinned      INTEGER NOT NULL CHECK (pinned IN (0, 1)),
    ref         BLOB NOT NULL,
    segments    TEXT NOT NULL CHECK (json_type(segments) = 'array'),
    sum         INTEGER NOT NULL,
    PRIMARY KEY (codebase, number)
) STRICT, WITHOUT ROWID;

-- A row holds for the snapshots first <= number < last; last is the largest integer while
-- the row is that of the latest snapshot. A row without a content is a tombstone: it says
-- only that the path ended, for the delta of a snapshot whose base was collected.
CREATE TABLE manifest (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL CHECK (first < last),
    content  BLOB CHECK (length(content) = 32),
    size     INTEGER NOT NULL,
    language TEXT NOT NULL,
    flags    INTEGER NOT NULL,
    renamed  BLOB NOT NULL,
    sum      INTEGER NOT NULL,
    PRIMARY KEY (codebase, path, first)
) STRICT, WITHOUT ROWID;
CREATE INDEX manifest_first ON manifest (codebase, first);
CREATE INDEX manifest_last ON manifest (codebase, last) WHERE last < 9223372036854775807;

-- content is null, and xx is 0, where the bytes were not read.
CREATE TABLE stats (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    dir      INTEGER NOT NULL CHECK (dir IN (0, 1)),
    size     INTEGER NOT NULL,
    mtime    INTEGER NOT NULL,
    ctime    INTEGER NOT NULL,
    device   INTEGER NOT NULL,
    inode    INTEGER NOT NULL,
    mode     INTEGER NOT NULL,
    racy     INTEGER NOT NULL CHECK (racy IN (0, 1)),
    flags    INTEGER NOT NULL,
    language TEXT NOT NULL,
    left_out TEXT NOT NULL,
    xx       INTEGER NOT NULL,
    content  BLOB CHECK (length(content) = 32),
    sum      INTEGER NOT NULL,
    PRIMARY KEY (codebase, path)
) STRICT, WITHOUT ROWID;

-- hash is that of the file.
CREATE TABLE segments (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    files  INTEGER NOT NULL CHECK (files >= 0),
    chunks INTEGER NOT NULL CHECK (chunks >= 0),
    bytes  INTEGER NOT NULL CHECK (bytes >= 0),
    hash   INTEGER NOT NULL,
    put_at INTEGER NOT NULL,
    sum    INTEGER NOT NULL
) STRICT;

-- The file ordinals of a segment, a JSON array, that snapshots from since on do not have.
CREATE TABLE dead (
    segment  INTEGER NOT NULL,
    since    INTEGER NOT NULL,
    ordinals TEXT NOT NULL CHECK (json_type(ordinals) = 'array'),
    sum      INTEGER NOT NULL,
    PRIMARY KEY (segment, since)
) STRICT, WITHOUT ROWID;

CREATE TABLE failures (
    codebase INTEGER NOT NULL,
    path     BLOB NOT NULL,
    content  BLOB NOT NULL CHECK (length(content) = 32),
    stage    TEXT NOT NULL,
    version  TEXT NOT NULL,
    tries    INTEGER NOT NULL CHECK (tries >= 0),
    reason   BLOB NOT NULL,
    parked   INTEGER NOT NULL CHECK (parked IN (0, 1)),
    at       INTEGER,
    sum      INTEGER NOT NULL,
    PRIMARY KEY (codebase, path, content, stage, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE codebases (
    key           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    place         BLOB NOT NULL,
    root          BLOB NOT NULL,
    name          BLOB NOT NULL,
    device        INTEGER NOT NULL,
    inode         INTEGER NOT NULL,
    registered_at INTEGER,
    current       INTEGER NOT NULL,
    latest        INTEGER NOT NULL CHECK (current BETWEEN 0 AND latest),
    failure       BLOB NOT NULL,
    sum           INTEGER NOT NULL,
    UNIQUE (root, place)
) STRICT;

PRAGMA user_version = 3;

-- +goose Down
DROP TABLE failures;
DROP TABLE dead;
DROP TABLE segments;
DROP TABLE stats;
DROP TABLE manifest;
DROP TABLE snapshots;
DROP TABLE codebases;
DROP TABLE leases;
DROP TABLE store;
ALTER TABLE old_meta RENAME TO meta;
ALTER TABLE old_codebases RENAME TO codebases;
ALTER TABLE old_snapshots RENAME TO snapshots;
ALTER TABLE old_manifest RENAME TO manifest;
ALTER TABLE old_stats RENAME TO stats;
ALTER TABLE old_segments RENAME TO segments;
ALTER TABLE old_dead RENAME TO dead;
ALTER TABLE old_failures RENAME TO failures;
CREATE INDEX manifest_first ON manifest (codebase, first);
CREATE INDEX manifest_last ON manifest (codebase, last) WHERE last < 9223372036854775807;

PRAGMA user_version = 2;
