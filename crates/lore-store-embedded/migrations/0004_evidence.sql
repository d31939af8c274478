-- What the subjects of a repository's commits say about its files, packed. It is made anew after each sync of the history.
CREATE TABLE evidence (
    number  INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    repo_id INTEGER NOT NULL UNIQUE,
    made_of TEXT NOT NULL,
    packed  BLOB NOT NULL
);

-- Numbers are counted from anywhere: in an index that is made anew, one that a running server remembers means nothing.
INSERT INTO sqlite_sequence (name, seq) VALUES ('evidence', abs(random() % 1099511627776));
