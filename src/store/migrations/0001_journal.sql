-- Never edit this file: its hash is stored in every database that has it. Add a file with the next number.

CREATE TABLE migrations (
    n          INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    applied_at INTEGER NOT NULL            -- milliseconds since the epoch, UTC
) STRICT;

CREATE TABLE tasks (
    ordinal INTEGER PRIMARY KEY,           -- the order of first events
    id      TEXT    NOT NULL UNIQUE
) STRICT;

CREATE TABLE events (
    task    TEXT    NOT NULL,
    seq     INTEGER NOT NULL,              -- counted from 1 within the task
    at      INTEGER NOT NULL,              -- milliseconds since the epoch, UTC
    kind    TEXT    NOT NULL,              -- for people with a SQL prompt; the body says it too
    version INTEGER NOT NULL,              -- of the body
    body    TEXT    NOT NULL,              -- JSON
    PRIMARY KEY (task, seq)
) STRICT;

CREATE TABLE snapshots (
    task  TEXT    PRIMARY KEY,
    seq   INTEGER NOT NULL,                -- events folded into it
    state TEXT    NOT NULL                 -- JSON
) STRICT;

CREATE TABLE blobs (
    hash  TEXT PRIMARY KEY,                -- blake3, 64 hex digits
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE memory (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
