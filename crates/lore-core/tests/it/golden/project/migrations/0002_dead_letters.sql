-- Jobs that failed too often, with the last reason.
CREATE TABLE dead_letters (
    job       BIGINT PRIMARY KEY REFERENCES jobs (id),
    reason    TEXT NOT NULL,
    buried_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    seen_by   TEXT
);

INSERT INTO dead_letters (job, reason)
SELECT id, 'unknown: failed before reasons were kept'
FROM jobs
WHERE status = 'dead';

CREATE FUNCTION revive(dead BIGINT) RETURNS VOID AS $$
BEGIN
    DELETE FROM dead_letters WHERE job = dead;
    UPDATE jobs SET status = 'waiting', attempts = 0 WHERE id = dead;
END;
$$ LANGUAGE plpgsql;
