-- Which content stood at which path, between which commits of the first-parent line, where somebody wants that to be kept.
CREATE TABLE pasts (
    number        INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    repo_id       INTEGER NOT NULL UNIQUE,
    rules_id      INTEGER,          -- NULL: it is wanted and not there yet
    scope         TEXT NOT NULL,    -- everything else that decided which files were taken
    synced_at     INTEGER,
    tip           TEXT,
    commit_count  INTEGER NOT NULL,
    version_count INTEGER NOT NULL,
    chunk_count   INTEGER NOT NULL,
    complete      INTEGER NOT NULL, -- 1: all content was there
    commits       BLOB NOT NULL,    -- names and dates, oldest first, packed
    paths         BLOB NOT NULL     -- versions of each path, and in which of them its chunks stand, packed
);

-- Numbers are counted from anywhere: in an index that is made anew, one that a running server remembers means nothing.
INSERT INTO sqlite_sequence (name, seq) VALUES ('pasts', abs(random() % 1099511627776));
