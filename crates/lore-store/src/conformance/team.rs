//! What every store of a team must do.

use std::sync::Arc;

use lore_model::{
    Activation, Actor, Golden, GoldenState, Job, JobId, JobStatus, JobTask, LoginId, Operation, RepoName, Role, User,
    UserId, UserName,
};

use super::OK;
use crate::{
    Cancelled, JOB_WAIT_MAX, JobEnd, JobLimits, JobQuery, NewJob, NewToken, RefreshToken, Renewal, Requeue, Rotation,
    SecretHash, StoreError, TeamChange, TeamStore,
};

/// Checks a store of a team; `make` makes an empty one.
pub fn check_team<S: TeamStore>(make: impl Fn() -> Arc<S>) {
    users_have_names_of_their_own_and_one_admin_stays(&*make());
    a_refresh_token_that_comes_twice_ends_its_login(&*make());
    tokens_are_found_by_their_hash_until_they_are_revoked(&*make());
    aliases_mean_one_thing(&*make());
    a_golden_repository_in_use_is_not_removed_unless_that_is_wanted(&*make());
    branches_are_wanted_by_activations_and_jobs(&*make());
    users_take_turns(&*make());
    a_job_and_what_it_brings_about_are_one_step(&*make());
    what_waits_is_cancelled_and_taken_back(&*make());
    removing_a_user_removes_what_is_theirs(&*make());
    who_asks_last_is_right(&*make());
    what_has_left_something_behind_is_ended_by_whoever_does_jobs(&*make());
    nothing_that_is_asked_for_is_lost_in_a_job_that_waits(&*make());
    however_a_refresh_ends_it_was_tried(&*make());
    a_clock_that_was_set_back_lets_no_job_wait(&*make());
    why_a_job_failed_is_kept_for_two_kinds_of_readers(&*make());
    the_main_branch_is_what_was_asked_for_last(&*make());
    what_answers_outlives_the_job_that_was_to_add_it(&*make());
    what_two_are_to_remove_stays_only_if_both_give_up(&*make());
    who_needs_several_repositories_has_a_turn(&*make());
    who_asked_for_what_is_written_down(&*make());
    what_is_kept_is_bounded(&*make());
}

fn by(at: i64) -> Actor {
    Actor { name: "root".to_owned(), address: Some("127.0.0.1".to_owned()), at }
}

fn alias(text: &str) -> RepoName {
    RepoName::parse(text).expect(OK)
}

fn user<S: TeamStore>(store: &S, name: &str, role: Role) -> User {
    store.add_user(&UserName::parse(name).expect(OK), role, "hash", &by(1)).expect(OK)
}

fn begin_login<S: TeamStore>(store: &S, user: &User, refresh: SecretHash, at: i64, expires_at: i64) -> LoginId {
    store.add_login(user.id, "hash", refresh, at, expires_at).expect(OK).expect(OK)
}

/// Shows one refresh token for another.
fn rotate<S: TeamStore>(store: &S, [old, new]: [u8; 2], at: i64, expires_at: i64) -> Rotation {
    let address = Some("192.0.2.7".to_owned());
    let renewal = Renewal { old: [old; 32], new: [new; 32], at, expires_at, address };
    store.rotate_login(&renewal).expect(OK)
}

fn golden(name: &str) -> Golden {
    Golden {
        alias: alias(name),
        url: format!("https://example.com/{name}.git"),
        branch: None,
        temporal: false,
        refresh_every: None,
        state: GoldenState::Adding,
        created_at: 1,
        refreshed_at: None,
        tried_at: None,
        last_error: None,
    }
}

fn add_golden<S: TeamStore>(store: &S, name: &str) {
    let ready = TeamChange::Refreshed { alias: alias(name), at: 2 };
    store.change(&[TeamChange::AddGolden(golden(name)), ready], &by(2)).expect(OK);
}

fn activation(user: UserId, name: &str, members: &[&str], branch: Option<&str>) -> Activation {
    Activation {
        user,
        alias: alias(name),
        golden: members.iter().map(|member| alias(member)).collect(),
        composite: members.len() > 1,
        branch: branch.map(str::to_owned),
        activated_at: 3,
        accessed_at: None,
    }
}

fn job(number: u8, operation: Operation, user: Option<&User>, golden: &[&str]) -> NewJob {
    NewJob {
        id: JobId::new([number; 16]),
        task: JobTask { operation, alias: None, golden: golden.iter().map(|name| alias(name)).collect(), branch: None },
        user: user.map(|user| user.id),
        username: user.map_or("(schedule)".to_owned(), |user| user.name.to_string()),
        user_max: 100,
        done: None,
        audited: false,
    }
}

const LIMITS: JobLimits = JobLimits { running: 10, per_user: 10 };

fn requeue(at: i64, not_before: i64, why: &str, counts: bool) -> Requeue {
    Requeue { at, not_before, why: format!("{why}, in git's words"), why_told: why.to_owned(), counts }
}

fn end(status: JobStatus, at: i64) -> JobEnd {
    JobEnd { status, at, result: Some("done".to_owned()), error: None, error_told: None }
}

fn users_have_names_of_their_own_and_one_admin_stays<S: TeamStore>(store: &S) {
    assert_eq!(store.list_users().expect(OK), []);
    let ada = user(store, "ada", Role::Admin);
    let again = store.add_user(&ada.name, Role::NormalUser, "x", &by(2));
    assert!(matches!(again, Err(StoreError::Exists(_))), "{again:?}");
    for refused in [store.set_role(ada.id, Role::PowerUser, &by(3)).map(|_| ()), store.remove_user(ada.id, &by(3))] {
        assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    }
    let bob = user(store, "bob", Role::Admin);
    assert_eq!(store.set_role(ada.id, Role::NormalUser, &by(4)).expect(OK).role, Role::NormalUser);
    assert!(store.remove_user(bob.id, &by(5)).is_err());
    assert_eq!(store.password_of(ada.id).expect(OK).as_deref(), Some("hash"));
    store.rehash_password(ada.id, "other", "new").expect(OK);
    assert_eq!(store.password_of(ada.id).expect(OK).as_deref(), Some("hash"));
    store.rehash_password(ada.id, "hash", "new").expect(OK);
    assert_eq!(store.password_of(ada.id).expect(OK).as_deref(), Some("new"));
    let key = store.signing_key([1; 32]).expect(OK);
    assert_eq!(store.signing_key([2; 32]).expect(OK), key);
    let (acts, total) = store.list_acts(2).expect(OK);
    assert_eq!((acts[0].act.as_str(), acts[0].subject.as_str(), acts.len(), total), ("set_role", "ada", 2, 3));
    store.check_writing().expect(OK);
    assert_eq!(store.list_acts(2).expect(OK).1, 3);
}

fn a_refresh_token_that_comes_twice_ends_its_login<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let login = begin_login(store, &ada, [1; 32], 10, 100);
    let other = begin_login(store, &ada, [9; 32], 10, 100);
    assert_eq!(store.user_of_login(login, 20).expect(OK).as_ref(), Some(&ada));
    assert_eq!(store.user_of_login(login, 100).expect(OK), None, "its time is over");
    let rotated = rotate(store, [1, 2], 20, 200);
    assert_eq!(rotated, Rotation::Rotated(login, ada.clone()));
    for (secret, at, known) in [(1, 20, Some(true)), (1, 200, Some(true)), (2, 199, Some(false)), (2, 200, None)] {
        let known = known.map(|is_taken| RefreshToken { login, is_taken });
        assert_eq!(store.find_refresh([secret; 32], at).expect(OK), known, "{secret} at {at}");
    }
    assert_eq!(store.user_of_login(login, 150).expect(OK).as_ref(), Some(&ada));
    assert_eq!(rotate(store, [7, 8], 20, 200), Rotation::Unknown);
    assert_eq!(rotate(store, [1, 3], 30, 200), Rotation::Reused(ada.clone()));
    assert_eq!(store.user_of_login(login, 40).expect(OK), None);
    let (acts, _) = store.list_acts(1).expect(OK);
    let told = (acts[0].act.as_str(), acts[0].username.as_str(), acts[0].address.as_deref());
    assert_eq!(told, ("refresh_reused", "ada", Some("192.0.2.7")), "it is known who had it");
    assert_eq!(rotate(store, [2, 4], 40, 200), Rotation::Unknown);
    assert_eq!(store.find_refresh([2; 32], 40).expect(OK), None);
    assert_eq!(store.user_of_login(other, 40).expect(OK).as_ref(), Some(&ada), "another login is not concerned");
    assert_eq!(rotate(store, [9, 5], 100, 200), Rotation::Unknown, "too late");
    let third = begin_login(store, &ada, [6; 32], 10, 1000);
    assert!(!store.set_password(ada.id, Some("guessed"), "mine", &by(50)).expect(OK), "it is not the one she has");
    assert!(store.set_password(ada.id, None, "other", &by(50)).expect(OK));
    assert_eq!(store.user_of_login(third, 60).expect(OK), None, "another password ends all logins");
    let late = store.add_login(ada.id, "hash", [8; 32], 51, 1000).expect(OK);
    assert_eq!(late, None, "who knew the old one was verified too early");
    assert!(store.add_login(ada.id, "other", [8; 32], 51, 1000).expect(OK).is_some());
    assert!(store.set_password(ada.id, Some("other"), "third", &by(52)).expect(OK));
}

fn tokens_are_found_by_their_hash_until_they_are_revoked<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::NormalUser));
    let new = |user: &User, name: &str, byte: u8| NewToken {
        user: user.id,
        name: name.to_owned(),
        secret: [byte; 32],
        expires_at: Some(99),
    };
    let token = store.add_token(&new(&ada, "laptop", 1), &by(5)).expect(OK);
    store.add_token(&new(&bob, "laptop", 2), &by(6)).expect(OK);
    let again = store.add_token(&new(&ada, "laptop", 3), &by(7));
    assert!(matches!(again, Err(StoreError::Exists(_))), "{again:?}");
    assert_eq!(store.find_token([1; 32]).expect(OK), Some((token.clone(), ada.clone())));
    assert_eq!(store.find_token([3; 32]).expect(OK), None);
    store.note_uses(&[(token.id, 77)], &[]).expect(OK);
    assert_eq!(store.list_tokens(Some(ada.id)).expect(OK)[0].last_used_at, Some(77));
    assert_eq!(store.list_tokens(None).expect(OK).len(), 2);
    assert!(!store.revoke_token(token.id, Some(bob.id), &by(8)).expect(OK), "it is not bob's");
    assert!(store.revoke_token(token.id, Some(ada.id), &by(8)).expect(OK));
    assert!(!store.revoke_token(token.id, None, &by(8)).expect(OK));
    assert_eq!(store.find_token([1; 32]).expect(OK), None);
}

fn aliases_mean_one_thing<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::PowerUser));
    for name in ["api", "web"] {
        add_golden(store, name);
    }
    let change = |change: TeamChange| store.change(&[change], &by(9));
    let exists = |ended: Result<(), StoreError>| assert!(matches!(ended, Err(StoreError::Exists(_))), "{ended:?}");
    exists(change(TeamChange::AddGolden(golden("API"))));
    change(TeamChange::Activate(activation(ada.id, "mine", &["api"], Some("dev")))).expect(OK);
    exists(change(TeamChange::Activate(activation(ada.id, "mine", &["web"], None))));
    exists(change(TeamChange::Activate(activation(ada.id, "mine", &["api", "web"], None))));
    exists(change(TeamChange::Activate(activation(bob.id, "api", &["web"], None))));
    exists(change(TeamChange::Activate(activation(bob.id, "api", &["api", "web"], None))));
    exists(change(TeamChange::AddGolden(golden("mine"))));
    change(TeamChange::Activate(activation(bob.id, "api", &["api"], None))).expect(OK);
    change(TeamChange::Activate(activation(bob.id, "mine", &["web", "api"], None))).expect(OK);
    let absent = change(TeamChange::Activate(activation(bob.id, "x", &["none"], None)));
    assert!(matches!(absent, Err(StoreError::Absent(_))), "{absent:?}");
    let found = store.find_activation(bob.id, &alias("mine")).expect(OK).expect(OK);
    assert_eq!((found.golden, found.composite), (vec![alias("web"), alias("api")], true));
    assert_eq!(store.list_activations(Some(ada.id)).expect(OK).len(), 1);
    change(TeamChange::SetBranch(ada.id, alias("mine"), Some("main".to_owned()))).expect(OK);
    let found = store.find_activation(ada.id, &alias("mine")).expect(OK).expect(OK);
    assert_eq!(found.branch.as_deref(), Some("main"));
    assert!(change(TeamChange::SetBranch(bob.id, alias("mine"), None)).is_err(), "a composite has no branch");
    change(TeamChange::Activate(activation(ada.id, "mine", &["api"], Some("dev")))).expect(OK);
    store.note_uses(&[], &[(ada.id, alias("mine"), 50)]).expect(OK);
    let found = store.find_activation(ada.id, &alias("mine")).expect(OK).expect(OK);
    assert_eq!((found.branch.as_deref(), found.accessed_at), (Some("dev"), Some(50)));
    change(TeamChange::Activate(activation(bob.id, "Ünit", &["api"], None))).expect(OK);
    exists(change(TeamChange::AddGolden(golden("ünit"))));
    change(TeamChange::Deactivate(ada.id, alias("mine"))).expect(OK);
    assert!(change(TeamChange::Deactivate(ada.id, alias("mine"))).is_err());
}

fn a_golden_repository_in_use_is_not_removed_unless_that_is_wanted<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::PowerUser));
    add_golden(store, "api");
    add_golden(store, "web");
    let mut alone = activation(bob.id, "alone", &["api"], None);
    alone.composite = true;
    for new in [
        activation(ada.id, "both", &["api", "web"], None),
        activation(ada.id, "mine", &["api"], Some("dev")),
        activation(bob.id, "api", &["api"], None),
        alone,
    ] {
        store.change(&[TeamChange::Activate(new)], &by(9)).expect(OK);
    }
    let removing = |force| TeamChange::RemovingGolden { alias: alias("api"), force };
    let refused = store.change(&[removing(false)], &by(9));
    assert!(
        matches!(&refused, Err(StoreError::Refused(what)) if what.contains("2 activations and 2 composites of 2 users")),
        "{refused:?}"
    );
    store.change(&[removing(true)], &by(9)).expect(OK);
    let found = store.find_golden(&alias("api")).expect(OK).expect(OK);
    assert_eq!(found.state, GoldenState::Removing);
    let late = store.change(&[TeamChange::Activate(activation(ada.id, "late", &["api"], None))], &by(9));
    assert!(matches!(late, Err(StoreError::Refused(_))), "{late:?}");
    store.change(&[TeamChange::Refreshed { alias: alias("api"), at: 10 }], &by(9)).expect(OK);
    let found = store.find_golden(&alias("api")).expect(OK).expect(OK);
    assert_eq!(found.state, GoldenState::Removing, "a refresh that ends late brings nothing back");
    store.change(&[TeamChange::RemoveGolden(alias("api"))], &by(9)).expect(OK);
    let left = store.list_activations(None).expect(OK);
    assert_eq!(
        left,
        [activation(ada.id, "both", &["web"], None)].map(|mut both| {
            both.composite = true;
            both
        }),
        "a composite goes on with what is left of it"
    );
    assert_eq!(store.list_golden().expect(OK).len(), 1);
}

fn branches_are_wanted_by_activations_and_jobs<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    add_golden(store, "api");
    store.change(&[TeamChange::Activate(activation(ada.id, "a", &["api"], Some("one")))], &by(9)).expect(OK);
    let mut new = job(1, Operation::Activate, Some(&ada), &["api"]);
    new.task.branch = Some("two".to_owned());
    store.add_job(&new, &[], &by(9)).expect(OK);
    assert_eq!(store.wanted_branches(&alias("api")).expect(OK), ["one", "two"]);
    store.cancel_job(&new.id, &by(9)).expect(OK);
    assert_eq!(store.wanted_branches(&alias("api")).expect(OK), ["one"]);
}

fn users_take_turns<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::Admin));
    let names = ["a", "b", "c", "d", "e"];
    for (number, name) in (1..).zip(names) {
        let owner = if number <= 4 { &ada } else { &bob };
        store.add_job(&job(number, Operation::Sync, Some(owner), &[name]), &[], &by(i64::from(number))).expect(OK);
    }
    let mut same = job(9, Operation::Sync, Some(&ada), &["b"]);
    assert_eq!(store.add_job(&same, &[], &by(9)).expect(OK).id, JobId::new([2; 16]), "it waits already");
    (same.task.branch, same.user_max) = (Some("other".to_owned()), 4);
    let refused = store.add_job(&same, &[], &by(9));
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    let one = JobLimits { running: 1, per_user: 1 };
    let mut order = Vec::new();
    while let Some(begun) = store.claim_job(&one, 20).expect(OK) {
        assert_eq!((begun.status, begun.attempts, begun.started_at), (JobStatus::Running, 1, Some(20)));
        assert_eq!(store.claim_job(&one, 20).expect(OK), None, "one at a time");
        order.push(begun.task.golden[0].as_str().to_owned());
        assert!(store.end_job(&begun.id, &end(JobStatus::Completed, 21), &[], &by(21)).expect(OK));
    }
    assert_eq!(order, ["a", "e", "b", "c", "d"], "bob does not wait for all of ada's");
    // Two on one repository are never begun together.
    for number in [11, 12] {
        let who = if number == 11 { &ada } else { &bob };
        store.add_job(&job(number, Operation::RefreshGolden, Some(who), &["x"]), &[], &by(30)).expect(OK);
    }
    let first = store.claim_job(&LIMITS, 31).expect(OK).expect(OK);
    assert_eq!(store.claim_job(&LIMITS, 31).expect(OK), None);
    let mut again = requeue(32, 100, "the network", true);
    store.requeue_job(&first.id, &again).expect(OK);
    let second = store.claim_job(&LIMITS, 33).expect(OK).expect(OK);
    assert_ne!(second.id, first.id);
    store.end_job(&second.id, &end(JobStatus::Failed, 34), &[], &by(34)).expect(OK);
    assert_eq!(store.claim_job(&LIMITS, 99).expect(OK), None, "not before its time");
    let begun = store.claim_job(&LIMITS, 100).expect(OK).expect(OK);
    assert_eq!((begun.id.clone(), begun.attempts), (first.id, 2));
    assert_eq!(store.running_jobs().expect(OK), std::slice::from_ref(&begun));
    (again.counts, again.not_before) = (false, 0);
    store.requeue_job(&begun.id, &again).expect(OK);
    assert_eq!(store.find_job(&begun.id).expect(OK).expect(OK).attempts, 1);
    let lines =
        store.job_log(&JobId::new([11; 16])).expect(OK).len() + store.job_log(&JobId::new([12; 16])).expect(OK).len();
    assert_eq!(lines, 2);
    assert_eq!(store.forget_jobs(30).expect(OK), 5);
}

fn a_job_and_what_it_brings_about_are_one_step<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let add = [TeamChange::AddGolden(golden("api"))];
    let new = job(1, Operation::AddGolden, Some(&ada), &["api"]);
    store.add_job(&new, &add, &by(1)).expect(OK);
    let failed = store.add_job(&job(2, Operation::AddGolden, Some(&ada), &["api", "x"]), &add, &by(1));
    assert!(failed.is_err());
    assert_eq!(store.find_job(&JobId::new([2; 16])).expect(OK), None, "neither or both");
    let begun = store.claim_job(&LIMITS, 2).expect(OK).expect(OK);
    store.note_progress(&begun.id, 40).expect(OK);
    store.note_progress(&begun.id, 30).expect(OK);
    assert_eq!(store.find_job(&begun.id).expect(OK).expect(OK).progress, 40, "it never goes back");
    let impossible = [TeamChange::Activate(activation(ada.id, "x", &["none"], None))];
    assert!(store.end_job(&begun.id, &end(JobStatus::Completed, 3), &impossible, &by(3)).is_err());
    assert_eq!(store.find_job(&begun.id).expect(OK).expect(OK).status, JobStatus::Running);
    let ready = [TeamChange::Refreshed { alias: alias("api"), at: 4 }];
    assert!(store.end_job(&begun.id, &end(JobStatus::Completed, 4), &ready, &by(4)).expect(OK));
    assert!(!store.end_job(&begun.id, &end(JobStatus::Failed, 5), &[], &by(5)).expect(OK), "it ends once");
    let ended = store.find_job(&begun.id).expect(OK).expect(OK);
    assert_eq!((ended.status, ended.progress, ended.completed_at), (JobStatus::Completed, 100, Some(4)));
    assert_eq!(store.find_golden(&alias("api")).expect(OK).expect(OK).state, GoldenState::Ready);
    let mut instant = job(3, Operation::Activate, Some(&ada), &["api"]);
    instant.done = Some("it was there".to_owned());
    let done = store.add_job(&instant, &[TeamChange::Activate(activation(ada.id, "api", &["api"], None))], &by(6));
    assert_eq!(done.expect(OK).status, JobStatus::Completed);
    let counted = store.count_jobs(Some(ada.id)).expect(OK);
    assert_eq!(counted, [(JobStatus::Completed, 2)]);
    let query = JobQuery { user: Some(ada.id), status: Some(JobStatus::Completed), limit: 1 };
    let (listed, total) = store.list_jobs(&query).expect(OK);
    assert_eq!((listed[0].id.clone(), listed.len(), total), (JobId::new([3; 16]), 1, 2));
}

fn what_waits_is_cancelled_and_taken_back<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let new = job(1, Operation::AddGolden, Some(&ada), &["api"]);
    store.add_job(&new, &[TeamChange::AddGolden(golden("api"))], &by(1)).expect(OK);
    assert_eq!(store.cancel_job(&new.id, &by(2)).expect(OK), Some(Cancelled::Now));
    assert_eq!(store.find_golden(&alias("api")).expect(OK), None);
    assert_eq!(store.cancel_job(&new.id, &by(2)).expect(OK), Some(Cancelled::Over(JobStatus::Cancelled)));
    assert_eq!(store.cancel_job(&JobId::new([7; 16]), &by(2)).expect(OK), None);
    add_golden(store, "web");
    let remove = job(2, Operation::RemoveGolden, Some(&ada), &["web"]);
    let removing = [TeamChange::RemovingGolden { alias: alias("web"), force: false }];
    store.add_job(&remove, &removing, &by(3)).expect(OK);
    store.cancel_job(&remove.id, &by(4)).expect(OK);
    assert_eq!(store.find_golden(&alias("web")).expect(OK).expect(OK).state, GoldenState::Ready);
    store.add_job(&job(3, Operation::RefreshGolden, None, &["web"]), &[], &by(5)).expect(OK);
    let begun = store.claim_job(&LIMITS, 6).expect(OK).expect(OK);
    assert_eq!(store.cancel_job(&begun.id, &by(7)).expect(OK), Some(Cancelled::Asked));
    assert!(store.find_job(&begun.id).expect(OK).expect(OK).cancel_requested);
}

fn removing_a_user_removes_what_is_theirs<S: TeamStore>(store: &S) {
    user(store, "ada", Role::Admin);
    let bob = user(store, "bob", Role::PowerUser);
    add_golden(store, "api");
    store.change(&[TeamChange::Activate(activation(bob.id, "api", &["api"], None))], &by(3)).expect(OK);
    let login = begin_login(store, &bob, [1; 32], 10, 100);
    let token = NewToken { user: bob.id, name: "x".to_owned(), secret: [2; 32], expires_at: None };
    store.add_token(&token, &by(4)).expect(OK);
    let waiting = job(1, Operation::Sync, Some(&bob), &["api"]);
    store.add_job(&waiting, &[], &by(5)).expect(OK);
    let removing = [TeamChange::RemovingGolden { alias: alias("api"), force: true }];
    store.add_job(&job(2, Operation::RemoveGolden, Some(&bob), &["api"]), &removing, &by(5)).expect(OK);
    store.remove_user(bob.id, &by(6)).expect(OK);
    assert_eq!(store.list_activations(None).expect(OK), []);
    assert_eq!(store.user_of_login(login, 20).expect(OK), None);
    assert_eq!(store.find_token([2; 32]).expect(OK), None);
    let job = store.find_job(&waiting.id).expect(OK).expect(OK);
    assert_eq!((job.status, job.user, job.username.as_str()), (JobStatus::Cancelled, None, "bob"));
    let state = store.find_golden(&alias("api")).expect(OK).expect(OK).state;
    assert_eq!(state, GoldenState::Ready, "what they were about to remove stays");
    let next = user(store, "bob", Role::PowerUser);
    assert_ne!(next.id, bob.id, "ids are not used again");
    let gone = [TeamChange::Activate(activation(bob.id, "api", &["api"], None))];
    let refused = store.change(&gone, &by(7));
    assert!(matches!(refused, Err(StoreError::Absent(_))), "{refused:?}");
}

fn who_asks_last_is_right<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::PowerUser));
    add_golden(store, "api");
    let about = |number: u8, operation, user: &User, branch: &str, done: bool| {
        let mut new = job(number, operation, Some(user), &["api"]);
        (new.task.alias, new.task.branch) = (Some(alias("mine")), Some(branch.to_owned()));
        new.done = done.then(|| "it was there".to_owned());
        new
    };
    let give = |user: &User, branch: &str| [TeamChange::Activate(activation(user.id, "mine", &["api"], Some(branch)))];
    // One waits, another one runs, and both want what is no longer wanted.
    let running = about(1, Operation::Activate, &ada, "one", false);
    let others = about(2, Operation::Activate, &bob, "one", false);
    let synced = about(3, Operation::Sync, &ada, "one", false);
    let waiting = about(4, Operation::SwitchBranch, &ada, "two", false);
    store.add_job(&running, &[], &by(1)).expect(OK);
    assert_eq!(store.claim_job(&LIMITS, 2).expect(OK).expect(OK).id, running.id);
    for new in [&others, &synced, &waiting] {
        store.add_job(new, &[], &by(2)).expect(OK);
    }
    let last = about(5, Operation::Activate, &ada, "three", true);
    store.add_job(&last, &give(&ada, "three"), &by(3)).expect(OK);
    let status = |id: &JobId| store.find_job(id).expect(OK).expect(OK).status;
    assert_eq!(status(&waiting.id), JobStatus::Cancelled);
    assert_eq!((status(&others.id), status(&synced.id)), (JobStatus::Pending, JobStatus::Pending));
    assert!(store.find_job(&running.id).expect(OK).expect(OK).cancel_requested);
    let mut changes = give(&ada, "one").to_vec();
    changes.push(TeamChange::Refreshed { alias: alias("api"), at: 77 });
    assert!(store.end_job(&running.id, &end(JobStatus::Completed, 4), &changes, &by(4)).expect(OK));
    assert_eq!(status(&running.id), JobStatus::Cancelled);
    let own = store.find_activation(ada.id, &alias("mine")).expect(OK).expect(OK);
    assert_eq!(own.branch.as_deref(), Some("three"));
    let read = store.find_golden(&alias("api")).expect(OK).expect(OK).refreshed_at;
    assert_eq!(read, Some(77), "what was read is read");
}

fn what_has_left_something_behind_is_ended_by_whoever_does_jobs<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let new = job(1, Operation::AddGolden, Some(&ada), &["api"]);
    store.add_job(&new, &[TeamChange::AddGolden(golden("api"))], &by(1)).expect(OK);
    store.claim_job(&LIMITS, 2).expect(OK).expect(OK);
    let again = requeue(3, 800, "the network", true);
    store.requeue_job(&new.id, &again).expect(OK);
    assert_eq!(store.claim_job(&LIMITS, 4).expect(OK), None);
    assert_eq!(store.cancel_job(&new.id, &by(5)).expect(OK), Some(Cancelled::Asked));
    let begun = store.claim_job(&LIMITS, 6).expect(OK).expect(OK);
    assert!(begun.cancel_requested, "it is begun at once, to be ended");
    // Whoever wants a repository gone wants nothing more of it.
    add_golden(store, "web");
    store.add_job(&job(2, Operation::RefreshGolden, None, &["web"]), &[], &by(7)).expect(OK);
    let removing = [TeamChange::RemovingGolden { alias: alias("web"), force: false }];
    store.add_job(&job(3, Operation::RemoveGolden, Some(&ada), &["web"]), &removing, &by(8)).expect(OK);
    assert!(store.find_job(&JobId::new([2; 16])).expect(OK).expect(OK).cancel_requested);
    store.cancel_job(&JobId::new([3; 16]), &by(9)).expect(OK);
    assert_eq!(store.find_golden(&alias("web")).expect(OK).expect(OK).state, GoldenState::Ready);
}

fn nothing_that_is_asked_for_is_lost_in_a_job_that_waits<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    add_golden(store, "api");
    store.add_job(&job(1, Operation::RefreshGolden, Some(&ada), &["api"]), &[], &by(1)).expect(OK);
    let keep = [TeamChange::Temporal(alias("api"), true), TeamChange::MainBranch(alias("api"), Some("dev".to_owned()))];
    let second = store.add_job(&job(2, Operation::RefreshGolden, Some(&ada), &["api"]), &keep, &by(2));
    assert_eq!(second.expect(OK).id, JobId::new([2; 16]));
    let api = store.find_golden(&alias("api")).expect(OK).expect(OK);
    assert_eq!((api.temporal, api.branch.as_deref()), (true, Some("dev")));
    let same = [TeamChange::AddGolden(golden("API"))];
    let refused = store.add_job(&job(3, Operation::AddGolden, Some(&ada), &["API"]), &same, &by(3));
    assert!(matches!(refused, Err(StoreError::Exists(_))), "{refused:?}");
    let taken = [TeamChange::Activate(activation(ada.id, "Api", &["api"], None))];
    let refused = store.change(&taken, &by(4));
    assert!(matches!(refused, Err(StoreError::Exists(_))), "they differ in case alone: {refused:?}");
}

fn what_is_kept_is_bounded<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    for number in 0..1005_u16 {
        let mut new = job(1, Operation::Deactivate, Some(&ada), &[]);
        let mut id = [0; 16];
        id[..2].copy_from_slice(&number.to_be_bytes());
        (new.id, new.done) = (JobId::new(id), Some("done".to_owned()));
        store.add_job(&new, &[], &by(100)).expect(OK);
    }
    assert_eq!(store.forget_jobs(50).expect(OK), 5, "of each user the newest stay");
    let query = JobQuery { user: Some(ada.id), status: None, limit: 1 };
    assert_eq!(store.list_jobs(&query).expect(OK).1, 1000);
    for number in 0..200_u8 {
        let secret = [number; 32];
        let token = NewToken { user: ada.id, name: format!("t{number}"), secret, expires_at: Some(1000) };
        store.add_token(&token, &by(200)).expect(OK);
    }
    let more = NewToken { user: ada.id, name: "t0".to_owned(), secret: [255; 32], expires_at: None };
    assert!(matches!(store.add_token(&more, &by(201)), Err(StoreError::Exists(_))));
    let other = NewToken { name: "other".to_owned(), ..more };
    let refused = store.add_token(&other, &by(201));
    assert!(matches!(refused, Err(StoreError::Refused(_))), "{refused:?}");
    store.add_token(&other, &by(1001)).expect("those whose time is over make room");
    // Refresh tokens that were taken long ago are forgotten; they only say that they are not known.
    let login = begin_login(store, &ada, [1; 32], 0, 100);
    rotate(store, [1, 2], 10, 110);
    rotate(store, [2, 3], 105, 205);
    rotate(store, [3, 4], 190, 290);
    assert_eq!(rotate(store, [1, 9], 195, 295), Rotation::Unknown);
    assert_eq!(store.user_of_login(login, 195).expect(OK).as_ref(), Some(&ada));
    assert_eq!(rotate(store, [2, 9], 195, 295), Rotation::Reused(ada));
}

fn however_a_refresh_ends_it_was_tried<S: TeamStore>(store: &S) {
    add_golden(store, "api");
    let tried_at = || store.find_golden(&alias("api")).expect(OK).expect(OK).tried_at;
    for (number, status) in (1..).zip([JobStatus::Cancelled, JobStatus::Failed, JobStatus::Completed]) {
        store.add_job(&job(number, Operation::RefreshGolden, None, &["api"]), &[], &by(10)).expect(OK);
        let begun = store.claim_job(&LIMITS, 11).expect(OK).expect(OK);
        let at = 100 * i64::from(number);
        store.end_job(&begun.id, &end(status, at), &[], &by(at)).expect(OK);
        assert_eq!(tried_at(), Some(at), "{status:?}");
    }
    let waiting = job(9, Operation::RefreshGolden, None, &["api"]);
    store.add_job(&waiting, &[], &by(400)).expect(OK);
    assert_eq!(store.cancel_job(&waiting.id, &by(500)).expect(OK), Some(Cancelled::Now));
    assert_eq!(tried_at(), Some(500), "also where it never began");
    let back = job(10, Operation::RefreshGolden, None, &["api"]);
    store.add_job(&back, &[], &by(50)).expect(OK);
    let begun = store.claim_job(&LIMITS, 51).expect(OK).expect(OK);
    store.end_job(&begun.id, &end(JobStatus::Failed, 60), &[], &by(60)).expect(OK);
    assert_eq!(tried_at(), Some(60), "by the clock of now, which may have been set back");
}

fn a_clock_that_was_set_back_lets_no_job_wait<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let new = job(1, Operation::Sync, Some(&ada), &["api"]);
    store.add_job(&new, &[], &by(10_000)).expect(OK);
    let begun = store.claim_job(&LIMITS, 10_000).expect(OK).expect(OK);
    store.requeue_job(&begun.id, &requeue(10_000, 10_000 + JOB_WAIT_MAX, "the network", true)).expect(OK);
    assert_eq!(store.claim_job(&LIMITS, 10_000).expect(OK), None, "it waits for as long as it may");
    let begun = store.claim_job(&LIMITS, 100).expect(OK).expect("it does not wait for the old time");
    assert_eq!((begun.attempts, begun.not_before), (2, None));
}

fn why_a_job_failed_is_kept_for_two_kinds_of_readers<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    store.add_job(&job(1, Operation::Sync, Some(&ada), &["api"]), &[], &by(1)).expect(OK);
    let begun = store.claim_job(&LIMITS, 2).expect(OK).expect(OK);
    store.requeue_job(&begun.id, &requeue(3, 3, "the network", true)).expect(OK);
    let both = |job: Job| (job.error, job.error_told);
    let expected = (Some("the network, in git's words".to_owned()), Some("the network".to_owned()));
    assert_eq!(both(store.find_job(&begun.id).expect(OK).expect(OK)), expected);
    let lines = store.job_log(&begun.id).expect(OK);
    assert_eq!(lines.last().expect(OK).text, "waits to be tried again: the network", "everybody reads what it did");
    store.claim_job(&LIMITS, 4).expect(OK).expect(OK);
    let failed = JobEnd {
        error: Some("git said no".to_owned()),
        error_told: Some("it was refused".to_owned()),
        ..end(JobStatus::Failed, 5)
    };
    store.end_job(&begun.id, &failed, &[], &by(5)).expect(OK);
    let expected = (Some("git said no".to_owned()), Some("it was refused".to_owned()));
    assert_eq!(both(store.find_job(&begun.id).expect(OK).expect(OK)), expected);
}

fn the_main_branch_is_what_was_asked_for_last<S: TeamStore>(store: &S) {
    let (ada, bob) = (user(store, "ada", Role::Admin), user(store, "bob", Role::Admin));
    add_golden(store, "api");
    let wish = |number, who, branch: &str| {
        let mut wish = job(number, Operation::RefreshGolden, Some(who), &["api"]);
        wish.task.branch = Some(branch.to_owned());
        wish
    };
    let main = |branch: &str| [TeamChange::MainBranch(alias("api"), Some(branch.to_owned()))];
    let kept = || store.find_golden(&alias("api")).expect(OK).expect(OK).branch;
    let status = |number| store.find_job(&JobId::new([number; 16])).expect(OK).expect(OK).status;
    store.add_job(&wish(1, &ada, "one"), &[], &by(1)).expect(OK);
    assert!(store.wanted_branches(&alias("api")).expect(OK).is_empty(), "the main branch is none beside it");
    store.claim_job(&LIMITS, 2).expect(OK).expect(OK);
    // Another wish, while it is being done, and one more, while that waits.
    store.add_job(&wish(2, &bob, "two"), &[], &by(3)).expect(OK);
    store.add_job(&wish(3, &ada, "three"), &[], &by(4)).expect(OK);
    assert_eq!(status(2), JobStatus::Cancelled);
    store.end_job(&JobId::new([1; 16]), &end(JobStatus::Completed, 5), &main("one"), &by(5)).expect(OK);
    assert_eq!((status(1), kept()), (JobStatus::Cancelled, None), "it was stopped meanwhile");
    let begun = store.claim_job(&LIMITS, 6).expect(OK).expect(OK);
    store.end_job(&begun.id, &end(JobStatus::Completed, 7), &main("three"), &by(7)).expect(OK);
    assert_eq!((status(3), kept().as_deref()), (JobStatus::Completed, Some("three")));
    // The remote's own choice is there for sure, and counts at once.
    store.add_job(&wish(4, &ada, "four"), &[], &by(8)).expect(OK);
    let choice = [TeamChange::MainBranch(alias("api"), None)];
    store.add_job(&job(5, Operation::RefreshGolden, Some(&bob), &["api"]), &choice, &by(9)).expect(OK);
    assert_eq!((status(4), kept()), (JobStatus::Cancelled, None));
}

fn what_answers_outlives_the_job_that_was_to_add_it<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let new = job(1, Operation::AddGolden, Some(&ada), &["api"]);
    store.add_job(&new, &[TeamChange::AddGolden(golden("api"))], &by(1)).expect(OK);
    // Another job has read it meanwhile.
    store.change(&[TeamChange::Refreshed { alias: alias("api"), at: 2 }], &by(2)).expect(OK);
    store.change(&[TeamChange::Activate(activation(ada.id, "mine", &["api"], None))], &by(3)).expect(OK);
    assert_eq!(store.cancel_job(&new.id, &by(4)).expect(OK), Some(Cancelled::Now));
    store.change(&[TeamChange::NotAdded(alias("api"))], &by(5)).expect(OK);
    assert_eq!(store.find_golden(&alias("api")).expect(OK).expect(OK).state, GoldenState::Ready);
    assert_eq!(store.list_activations(None).expect(OK).len(), 1);
    // One that a stopped server had begun may have left something, though that attempt does not count.
    let second = job(2, Operation::AddGolden, Some(&ada), &["web"]);
    store.add_job(&second, &[TeamChange::AddGolden(golden("web"))], &by(6)).expect(OK);
    store.claim_job(&LIMITS, 7).expect(OK).expect(OK);
    let again = requeue(8, 8, "the server was stopped", false);
    store.requeue_job(&second.id, &again).expect(OK);
    assert_eq!(store.cancel_job(&second.id, &by(9)).expect(OK), Some(Cancelled::Asked));
    store.change(&[TeamChange::NotAdded(alias("web"))], &by(10)).expect(OK);
    assert_eq!(store.find_golden(&alias("web")).expect(OK), None);
}

fn what_two_are_to_remove_stays_only_if_both_give_up<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let bob = user(store, "bob", Role::Admin);
    add_golden(store, "api");
    let removing = [TeamChange::RemovingGolden { alias: alias("api"), force: false }];
    for (number, who) in [(1, &ada), (2, &bob)] {
        let new = job(number, Operation::RemoveGolden, Some(who), &["api"]);
        store.add_job(&new, &removing, &by(1)).expect(OK);
    }
    let state = || store.find_golden(&alias("api")).expect(OK).expect(OK).state;
    store.cancel_job(&JobId::new([2; 16]), &by(2)).expect(OK);
    assert_eq!(state(), GoldenState::Removing, "ada still wants it gone");
    // What was begun may have left nothing that could stay: whoever does jobs decides.
    let begun = store.claim_job(&LIMITS, 3).expect(OK).expect(OK);
    let again = requeue(4, 4, "the server stopped", true);
    store.requeue_job(&begun.id, &again).expect(OK);
    assert_eq!(store.cancel_job(&begun.id, &by(5)).expect(OK), Some(Cancelled::Asked));
    assert_eq!(state(), GoldenState::Removing);
    let begun = store.claim_job(&LIMITS, 6).expect(OK).expect(OK);
    let keep = [TeamChange::KeepGolden(alias("api"))];
    store.end_job(&begun.id, &end(JobStatus::Cancelled, 7), &keep, &by(7)).expect(OK);
    assert_eq!(state(), GoldenState::Ready);
}

fn who_needs_several_repositories_has_a_turn<S: TeamStore>(store: &S) {
    let ada = user(store, "ada", Role::Admin);
    let refresh = |number: u8, name: &str| job(number, Operation::RefreshGolden, None, &[name]);
    store.add_job(&refresh(1, "api"), &[], &by(0)).expect(OK);
    let mut on_api = store.claim_job(&LIMITS, 0).expect(OK).expect(OK);
    store.add_job(&job(2, Operation::Sync, Some(&ada), &["api", "web"]), &[], &by(1)).expect(OK);
    // Somebody is always busy with one of the two, and the next is asked for before it ends.
    let mut begun = Vec::new();
    for (number, at) in (3..).zip((100..1000).step_by(100)) {
        store.add_job(&refresh(number, if number % 2 == 1 { "web" } else { "api" }), &[], &by(at)).expect(OK);
        let next = store.claim_job(&LIMITS, at).expect(OK);
        store.end_job(&on_api.id, &end(JobStatus::Completed, at), &[], &by(at)).expect(OK);
        let Some(next) = (match next {
            Some(next) => Some(next),
            None => store.claim_job(&LIMITS, at).expect(OK),
        }) else {
            continue;
        };
        begun.push(next.task.golden.len());
        if next.task.golden.len() == 2 {
            break;
        }
        on_api = next;
    }
    assert_eq!(begun.last(), Some(&2), "after some minutes younger ones wait: {begun:?}");
    assert!(begun.len() > 1, "not before: {begun:?}");
}

fn who_asked_for_what_is_written_down<S: TeamStore>(store: &S) {
    let actor = |name: &str, at| Actor { name: name.to_owned(), address: Some("192.0.2.1".to_owned()), at };
    store.note_act(&actor("(nobody)", 1), "login", "ada", "refused").expect(OK);
    let mut refresh = job(1, Operation::RefreshGolden, None, &["api"]);
    store.add_job(&refresh, &[], &actor("(schedule)", 2)).expect(OK);
    refresh.audited = true;
    store.add_job(&refresh, &[], &actor("ada", 3)).expect(OK);
    let (acts, total) = store.list_acts(10).expect(OK);
    let told: Vec<_> = acts.iter().map(|act| (act.username.as_str(), act.act.as_str(), act.subject.as_str())).collect();
    assert_eq!(told, [("ada", "refresh_golden_repo", "api"), ("(nobody)", "login", "ada")]);
    assert_eq!((total, acts[0].at, acts[1].address.as_deref()), (2, 3, Some("192.0.2.1")));
}
