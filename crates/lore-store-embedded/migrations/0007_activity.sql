-- Since when a repository is known, and how often it was synced.
ALTER TABLE ingest_state ADD COLUMN added_at INTEGER; -- NULL where an earlier Lore registered it
ALTER TABLE ingest_state ADD COLUMN sync_count INTEGER NOT NULL DEFAULT 0;
UPDATE ingest_state SET sync_count = 1 WHERE last_synced_at IS NOT NULL;
