-- A sync tells how many patches are absent and why. Without an index it reads every commit for that.
CREATE INDEX commits_without_patch ON commits (repo_id, patch_state, sha) WHERE patch_state <> 0;
