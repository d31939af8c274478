-- Code by content. Texts, words and vectors of chunks lie in segment files; what is here names them.
-- A segment exists for readers from the transaction that names it on, and is deleted only after one that no longer does.

INSERT INTO meta VALUES ('next_chunk', 0), ('next_segment', 1);

CREATE TABLE segments (
    segment_id INTEGER PRIMARY KEY,
    file       TEXT NOT NULL UNIQUE, -- in the folder `segments`
    chunks     INTEGER NOT NULL,
    bytes      INTEGER NOT NULL
);

-- Everything but the content that decides how content is read. Content read under other rules is read again.
CREATE TABLE rules (
    rules_id INTEGER PRIMARY KEY,
    text     TEXT NOT NULL UNIQUE
);

CREATE TABLE blobs (
    blob_id   INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    rules_id  INTEGER NOT NULL,
    oid       BLOB NOT NULL,
    hint      TEXT NOT NULL, -- what of the path decides how it is read: an extension, or a name that means something
    language  TEXT NOT NULL,
    size      INTEGER NOT NULL,
    lines     INTEGER NOT NULL,
    plain     TEXT,          -- why it is not found by meaning
    package   TEXT,
    imports   INTEGER NOT NULL,
    types     INTEGER NOT NULL,
    functions INTEGER NOT NULL,
    tags      TEXT NOT NULL, -- JSON array
    entries   BLOB NOT NULL, -- its chunks, packed
    UNIQUE (oid, hint, rules_id)
);

CREATE TABLE snapshots (
    snapshot_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    repo_id     INTEGER NOT NULL,
    sha         TEXT NOT NULL,
    rules_id    INTEGER NOT NULL,
    file_count  INTEGER NOT NULL,
    chunk_count INTEGER NOT NULL,
    line_count  INTEGER NOT NULL,
    byte_count  INTEGER NOT NULL,
    files       BLOB NOT NULL, -- paths, contents and chunks, packed
    left_out    BLOB NOT NULL, -- files that are not searched and why, packed
    UNIQUE (repo_id, sha, rules_id)
);

CREATE TABLE code_state (
    repo_id   INTEGER PRIMARY KEY,
    synced_at INTEGER,
    rules     TEXT NOT NULL,
    scope     TEXT NOT NULL, -- everything but the tips that decided which files were taken
    tips      TEXT NOT NULL, -- JSON array of [name, sha]
    partial   INTEGER NOT NULL,           -- 1: a sync is under way or was cut off
    complete  INTEGER NOT NULL DEFAULT 0  -- 1: every snapshot holds all its files
);
