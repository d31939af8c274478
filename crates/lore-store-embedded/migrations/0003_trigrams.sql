-- Segments have trigrams from now on. Those without are not read any more: what was derived of code is forgotten, and the
-- next sync reads it again from git. Their files are named by nothing then, and the next sync removes them. Numbers of
-- chunks and segments go on counting: none is used again.

DELETE FROM snapshots;
DELETE FROM blobs;
DELETE FROM rules;
DELETE FROM segments;
DELETE FROM code_state;
DELETE FROM meta WHERE key IN ('dropped', 'retired_before');

-- Snapshots are counted from anywhere: in an index that is made anew, a number that a running server remembers means nothing.
DELETE FROM sqlite_sequence WHERE name = 'snapshots';
INSERT INTO sqlite_sequence (name, seq) VALUES ('snapshots', abs(random() % 1099511627776));
