-- What an actor has done of one kind, in its order: so much of it is kept, whatever the others do.
CREATE INDEX acts_by_actor ON acts (username, act, id);
