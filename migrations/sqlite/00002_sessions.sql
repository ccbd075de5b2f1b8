-- What agents were shown. A row whose time has passed is as good as gone.

-- +goose Up
CREATE TABLE sessions (
    id    TEXT PRIMARY KEY,
    until INTEGER NOT NULL,
    body  BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_until ON sessions (until);

PRAGMA user_version = 2;

-- +goose Down
DROP TABLE sessions;

PRAGMA user_version = 1;
