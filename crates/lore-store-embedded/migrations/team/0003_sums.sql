-- Sums of what was written: SQLite finds a page that is none any more, not a byte that became another.
CREATE TABLE sums (
    name TEXT PRIMARY KEY, -- the table and the version of the schema
    sum  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
