-- Repositories and their history.
-- `repos`, `commits`, `commit_files`, `commit_patches`, `ingest_state` and `commits_fts` are a promise to users' own SQL:
-- these names and the columns named first in each stay. The two views hide how rows are really kept.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta VALUES ('generation', 1);

CREATE TABLE repos (
    repo_id          INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    name             TEXT NOT NULL UNIQUE,
    local_path       TEXT NOT NULL, -- a BLOB where the path is not UTF-8
    remote_url       TEXT,
    default_branch   TEXT,
    exclude_prefixes TEXT NOT NULL, -- JSON array
    author_filter    TEXT,
    fork_of          TEXT,
    branches         TEXT           -- NULL: the default; '*': all; else a JSON array
);

CREATE TABLE commits (
    id              INTEGER PRIMARY KEY,
    repo_id         INTEGER NOT NULL,
    sha             TEXT NOT NULL,
    author_name     TEXT NOT NULL,
    author_email    TEXT NOT NULL,
    committer_name  TEXT NOT NULL,
    committer_email TEXT NOT NULL,
    author_time     INTEGER,          -- NULL where git prints none
    commit_time     INTEGER,
    subject         TEXT NOT NULL,
    body            TEXT,
    parent_count    INTEGER NOT NULL,
    patch_preview   TEXT NOT NULL,
    patch_state     INTEGER NOT NULL, -- 0 stored, 1 binary only, 2 too large, 3 objects missing
    lossy           INTEGER NOT NULL, -- 1 where text was not UTF-8 and was replaced
    UNIQUE (repo_id, sha)
);

CREATE TABLE paths (
    path_id INTEGER PRIMARY KEY,
    path    TEXT NOT NULL,
    exact   BLOB NOT NULL DEFAULT x'', -- the bytes, where they are not UTF-8
    UNIQUE (path, exact)
);

-- `repo_id` and `author_time` repeat the commit's, so that a search over paths need not look at commits.
CREATE TABLE file_changes (
    path_id     INTEGER NOT NULL,
    commit_id   INTEGER NOT NULL,
    position    INTEGER NOT NULL,
    status      TEXT NOT NULL,
    old_path_id INTEGER,
    repo_id     INTEGER NOT NULL,
    author_time INTEGER NOT NULL,
    PRIMARY KEY (path_id, commit_id, position)
) WITHOUT ROWID;

CREATE INDEX file_changes_of_commit ON file_changes (commit_id, position);

CREATE TABLE patches (
    commit_id  INTEGER PRIMARY KEY,
    patch_blob BLOB NOT NULL, -- one zstd frame
    raw_len    INTEGER NOT NULL
);

CREATE TABLE ingest_state (
    repo_id         INTEGER PRIMARY KEY,
    last_synced_at  INTEGER,
    last_synced_sha TEXT,
    last_error      TEXT,
    fingerprint     TEXT NOT NULL DEFAULT '',
    partial         INTEGER NOT NULL DEFAULT 1,
    commit_count    INTEGER NOT NULL DEFAULT 0,
    problems        TEXT NOT NULL DEFAULT '[]' -- JSON array of [reason, count]
);

CREATE TABLE repo_tips (
    repo_id INTEGER NOT NULL,
    name    TEXT NOT NULL,
    sha     TEXT NOT NULL,
    shallow INTEGER NOT NULL, -- 1: not a tip but the boundary of a shallow clone
    PRIMARY KEY (repo_id, shallow, name, sha)
) WITHOUT ROWID;

CREATE TABLE author_aliases (
    repo_id      INTEGER NOT NULL,
    name         TEXT NOT NULL,
    email        TEXT NOT NULL,
    mapped_name  TEXT NOT NULL,
    mapped_email TEXT NOT NULL,
    PRIMARY KEY (repo_id, name, email)
) WITHOUT ROWID;

CREATE VIEW commit_files AS
SELECT c.repo_id, c.sha, p.path, f.status, o.path AS old_path
FROM file_changes AS f
JOIN commits AS c ON c.id = f.commit_id
JOIN paths AS p ON p.path_id = f.path_id
LEFT JOIN paths AS o ON o.path_id = f.old_path_id;

CREATE VIEW commit_patches AS
SELECT c.repo_id, c.sha, p.patch_blob
FROM patches AS p
JOIN commits AS c ON c.id = p.commit_id;

CREATE VIRTUAL TABLE commits_fts USING fts5(subject, body, patch_preview, content='commits', content_rowid='id');
