-- Other names that a repository answers to.
ALTER TABLE repos ADD COLUMN aliases TEXT; -- NULL: none; else a JSON array
