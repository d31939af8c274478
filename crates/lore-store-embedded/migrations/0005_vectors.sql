-- Vectors of other models than the index's own, each model a set. They lie in files of the folder `vectors`; what is here
-- names them. A file exists for readers from the transaction that names it on.

CREATE TABLE vector_sets (
    set_id     INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    model      TEXT NOT NULL UNIQUE,              -- the name of the vector space
    dimensions INTEGER NOT NULL
);

CREATE TABLE vector_files (
    file_id INTEGER PRIMARY KEY AUTOINCREMENT,    -- never used again; of two vectors of one chunk, the later file's counts
    set_id  INTEGER NOT NULL,
    file    TEXT NOT NULL UNIQUE,
    vectors INTEGER NOT NULL,
    bytes   INTEGER NOT NULL
);
