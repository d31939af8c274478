-- Why a job failed, for those who do not manage repositories: what git says may name hosts and accounts.
ALTER TABLE jobs ADD COLUMN error_told TEXT;
