-- Sums of what was written: SQLite finds a page that is none any more, not a byte that became another.
-- A sum is NULL where an earlier Lore wrote the row.
ALTER TABLE commits ADD COLUMN sum INTEGER;   -- of the row and its files
ALTER TABLE blobs ADD COLUMN sum INTEGER;
ALTER TABLE snapshots ADD COLUMN sum INTEGER;
ALTER TABLE evidence ADD COLUMN sum INTEGER;
ALTER TABLE pasts ADD COLUMN sum INTEGER;

-- Of small tables as a whole.
CREATE TABLE sums (
    name TEXT PRIMARY KEY, -- the table and the version of the schema
    sum  INTEGER NOT NULL
) WITHOUT ROWID;
