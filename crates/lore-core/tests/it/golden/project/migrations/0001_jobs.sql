-- The queue. A job is never deleted here; the archive takes old ones.
CREATE TABLE jobs (
    id           BIGSERIAL PRIMARY KEY,
    kind         TEXT NOT NULL,
    payload      JSONB NOT NULL,
    status       TEXT NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'leased', 'done', 'dead')),
    attempts     INTEGER NOT NULL DEFAULT 0,
    worker       TEXT,
    leased_until TIMESTAMPTZ,
    created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
    finished_at  TIMESTAMPTZ
);

-- What `lease` looks for.
CREATE INDEX jobs_waiting ON jobs (id) WHERE status = 'waiting';

-- What the reaper looks for.
CREATE INDEX jobs_leased ON jobs (leased_until) WHERE status = 'leased';

CREATE VIEW jobs_per_kind AS
SELECT kind, status, count(*) AS jobs, max(attempts) AS most_attempts
FROM jobs
GROUP BY kind, status;
