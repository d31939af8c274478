-- What reviewers said. Rows stay: what was delivered is the record of the review.
CREATE TABLE messages (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    project      ANY,                   -- the root's path (bytes where it is no text); NULL: for whoever asks first
    file         TEXT NOT NULL,         -- below the root
    file_exact   BLOB NOT NULL,         -- its bytes where they are no text, else empty
    first_line   INTEGER,
    last_line    INTEGER,
    comment      TEXT NOT NULL,
    time         TEXT NOT NULL,         -- RFC 3339, as it is shown
    branch       TEXT,
    head         TEXT,                  -- the commit's hexadecimal name
    hunk         TEXT,
    symbol       TEXT,
    key          BLOB NOT NULL,         -- SHA-256 of what makes it this message
    stored_at    INTEGER NOT NULL,      -- seconds since 1970
    state        TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'withdrawn')),
    state_since  INTEGER
) STRICT;

-- Sent twice is sent once, unless it was taken back in between.
CREATE UNIQUE INDEX messages_by_key ON messages (key) WHERE state <> 'withdrawn';
CREATE INDEX messages_waiting ON messages (project, id) WHERE state = 'waiting';

-- Code as it was, once for all messages about it.
CREATE TABLE contents (
    content      INTEGER PRIMARY KEY,
    hash         BLOB NOT NULL UNIQUE,  -- BLAKE3 of the text
    packed       BLOB NOT NULL          -- zstd
) STRICT;

-- The code that a message is about.
CREATE TABLE anchors (
    message      INTEGER PRIMARY KEY REFERENCES messages (id),
    content      INTEGER NOT NULL REFERENCES contents (content),
    anchor_line  INTEGER NOT NULL,      -- the number of the first line in it
    whole        INTEGER NOT NULL
) STRICT;

-- Messages that a reader has and has not acknowledged. A reader is a file that a living process has locked.
CREATE TABLE claims (
    message      INTEGER PRIMARY KEY REFERENCES messages (id),
    reader       TEXT NOT NULL
) STRICT;

CREATE VIRTUAL TABLE messages_fts USING fts5 (comment, file, symbol, hunk, tokenize = 'porter unicode61 remove_diacritics 2');
