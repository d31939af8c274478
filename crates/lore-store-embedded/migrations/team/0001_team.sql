-- Who may use the server. Ids are never used again: what is signed for one user must not fit the next.
CREATE TABLE users (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    name         TEXT NOT NULL UNIQUE,
    role         TEXT NOT NULL CHECK (role IN ('admin', 'power_user', 'normal_user')),
    password     TEXT NOT NULL,         -- an Argon2id hash in PHC form
    created_at   INTEGER NOT NULL       -- seconds since 1970, as all times here
) STRICT;

-- What the server itself must keep to itself.
CREATE TABLE secrets (
    name         TEXT PRIMARY KEY,
    value        BLOB NOT NULL
) STRICT;

-- A login is everything that grew out of one password.
CREATE TABLE logins (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX logins_by_user ON logins (user);

-- The refresh tokens of a login: one that counts, and those that were taken. Only hashes.
CREATE TABLE refresh_tokens (
    hash         BLOB PRIMARY KEY,
    login        INTEGER NOT NULL REFERENCES logins (id) ON DELETE CASCADE,
    taken_at     INTEGER
) STRICT;
CREATE INDEX refresh_tokens_by_login ON refresh_tokens (login);

-- Personal tokens. Only hashes.
CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    hash         BLOB NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    UNIQUE (user, name)
) STRICT;

-- Repositories that the server keeps for everybody.
CREATE TABLE golden (
    alias         TEXT PRIMARY KEY,
    folded        TEXT NOT NULL UNIQUE, -- in small letters: two that differ in case alone would be taken for each other
    url           TEXT NOT NULL,
    branch        TEXT,
    temporal      INTEGER NOT NULL,
    refresh_every INTEGER,
    state         TEXT NOT NULL CHECK (state IN ('adding', 'ready', 'removing')),
    created_at    INTEGER NOT NULL,
    refreshed_at  INTEGER,
    tried_at      INTEGER,
    last_error    TEXT
) STRICT;

-- What a user calls one of them, or several.
CREATE TABLE activations (
    id           INTEGER PRIMARY KEY,
    user         INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    alias        TEXT NOT NULL,
    composite    INTEGER NOT NULL,
    branch       TEXT,
    activated_at INTEGER NOT NULL,
    accessed_at  INTEGER,
    UNIQUE (user, alias)
) STRICT;

CREATE TABLE members (
    activation   INTEGER NOT NULL REFERENCES activations (id) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    golden       TEXT NOT NULL REFERENCES golden (alias),
    PRIMARY KEY (activation, position),
    UNIQUE (activation, golden)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_golden ON members (golden);

-- Work that is done for somebody.
CREATE TABLE jobs (
    number       INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT NOT NULL UNIQUE,
    operation    TEXT NOT NULL,
    alias        TEXT,
    branch       TEXT,
    user         INTEGER REFERENCES users (id) ON DELETE SET NULL,
    username     TEXT NOT NULL,
    status       TEXT NOT NULL CHECK (status IN ('pending', 'running', 'completed', 'failed', 'cancelled')),
    created_at   INTEGER NOT NULL,
    started_at   INTEGER,
    completed_at INTEGER,
    progress     INTEGER NOT NULL DEFAULT 0,
    result       TEXT,
    error        TEXT,
    attempts     INTEGER NOT NULL DEFAULT 0,
    not_before   INTEGER,
    cancel       INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX jobs_unfinished ON jobs (status, number) WHERE status IN ('pending', 'running');
CREATE INDEX jobs_by_user ON jobs (user, number);
CREATE INDEX jobs_over ON jobs (completed_at) WHERE completed_at IS NOT NULL;

CREATE TABLE job_golden (
    job          INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    position     INTEGER NOT NULL,
    golden       TEXT NOT NULL,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_lines (
    job          INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    at           INTEGER NOT NULL,
    text         TEXT NOT NULL
) STRICT;
CREATE INDEX job_lines_by_job ON job_lines (job);

-- When each user last had a turn, as a count of turns: times would be equal too often. User 0 is the server itself.
CREATE TABLE turns (
    user         INTEGER PRIMARY KEY,
    turn         INTEGER NOT NULL
) STRICT;

-- Who did what. Names, not ids: the record outlives the users.
CREATE TABLE acts (
    id           INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    username     TEXT NOT NULL,
    address      TEXT,
    act          TEXT NOT NULL,
    subject      TEXT NOT NULL,
    outcome      TEXT NOT NULL
) STRICT;
