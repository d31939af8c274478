//! What every backend must do with messages.

use std::{path::Path, sync::Arc, time::Duration};

use lore_model::{Anchor, Cancel, CommitId, Message, MessageId, MessageState, NewMessage, RepoPath};

use super::OK;
use crate::{
    Added, Claimed, MESSAGE_WORDS_BYTES, MESSAGE_WORDS_MAX, MessageQuery, MessageStore, Others, StoreError, Withdrawal,
};

/// Runs every check of [`MessageStore`]. `make` makes an empty store, `again` another process's view of the same one.
pub fn check_messages<S: MessageStore>(make: impl Fn() -> Arc<S>, again: impl Fn(&S) -> Arc<S>) {
    an_empty_store_has_no_messages(&*make());
    messages_come_back_as_they_were_sent(&*make());
    what_is_sent_twice_is_kept_once(&*make());
    the_oldest_are_claimed_first_and_once(&*make());
    a_project_gets_its_own_messages_and_those_for_everybody(&*make());
    what_is_released_is_delivered_later(&*make());
    one_reader_at_a_time_delivers(&make, &again);
    only_what_waits_can_be_withdrawn(&*make());
    messages_are_found_by_words_place_and_state(&*make());
    messages_are_found_by_their_very_file(&*make());
    messages_are_read_on_without_their_code(&*make());
    any_text_is_a_query(&*make());
    many_words_are_a_query_and_too_many_are_refused(&*make());
    a_write_of_another_process_is_told(&make, &again);
}

/// No notification takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

fn project() -> &'static Path {
    Path::new("/somewhere/project")
}

fn message(number: u8, comment: &str) -> NewMessage {
    NewMessage {
        project: Some(project().to_owned()),
        file: "src/main.rs".into(),
        lines: Some((4, 6)),
        comment: comment.to_owned(),
        time: "2025-07-01T10:30:00Z".to_owned(),
        branch: None,
        head: None,
        hunk: None,
        anchor: None,
        key: [number; 32],
    }
}

fn add(store: &impl MessageStore, message: &NewMessage) -> MessageId {
    match store.add(message, 7).expect(OK) {
        Added::New(id) => id,
        Added::Known(id) => panic!("{id} was there before"),
    }
}

fn claim(store: &impl MessageStore, limit: usize) -> (Vec<Message>, usize) {
    match store.claim(project(), limit, Others::Wait).expect(OK) {
        Claimed::Messages(messages, left) => (messages, left),
        Claimed::Busy => panic!("nobody else claims"),
    }
}

fn ids(messages: &[Message]) -> Vec<MessageId> {
    messages.iter().map(|message| message.id).collect()
}

fn list(store: &impl MessageStore, query: MessageQuery) -> Vec<MessageId> {
    let (found, more) = store.list_messages(&MessageQuery { limit: 10, ..query }).expect(OK);
    assert!(!more);
    ids(&found)
}

fn an_empty_store_has_no_messages(store: &impl MessageStore) {
    assert_eq!(claim(store, 10), (Vec::new(), 0));
    assert_eq!(store.list_waiting(project(), 10).expect(OK), (Vec::new(), 0));
    assert!(list(store, MessageQuery::default()).is_empty());
    assert_eq!(store.find_message(MessageId(1)).expect(OK), None);
    assert_eq!(store.withdraw(MessageId(1), 1).expect(OK), Withdrawal::Absent);
    assert_eq!(store.check_messages().expect(OK), [""; 0]);
}

fn messages_come_back_as_they_were_sent(store: &impl MessageStore) {
    let full = NewMessage {
        file: RepoPath::new(&b"src/\xff odd\n.rs"[..]),
        comment: "it's \"quoted\" $(x); `ls`\n\u{1f980} 日本語\0end".to_owned(),
        branch: Some("feature/x".to_owned()),
        head: CommitId::from_hex("0a".repeat(20).as_bytes()).ok(),
        hunk: Some("@@ -1 +1 @@\n-a\n+b\n".to_owned()),
        anchor: Some(Anchor {
            text: b"fn main() {}\n\xff\n".repeat(1000),
            first_line: 12,
            whole: false,
            symbol: Some("main".to_owned()),
        }),
        ..message(1, "")
    };
    let bare = NewMessage { project: None, lines: None, ..message(2, "bare") };
    for sent in [full, bare] {
        let id = add(store, &sent);
        let found = store.find_message(id).expect(OK).expect("it is there");
        assert_eq!(found, Message { id, sent, stored_at: 7, state: MessageState::Waiting });
    }
}

fn what_is_sent_twice_is_kept_once(store: &impl MessageStore) {
    let first = add(store, &message(1, "one"));
    assert_eq!(store.add(&message(1, "one"), 8).expect(OK), Added::Known(first));
    assert_eq!(store.find_key(message(1, "one").key).expect(OK), Some(first));
    assert_eq!(store.find_key([0xff; 32]).expect(OK), None);
    let (claimed, _) = claim(store, 10);
    assert_eq!(ids(&claimed), [first]);
    store.acknowledge(&[first], 9).expect(OK);
    assert_eq!(store.add(&message(1, "one"), 9).expect(OK), Added::Known(first), "delivered or not");
    let second = add(store, &message(2, "two"));
    assert_eq!(store.withdraw(second, 9).expect(OK), Withdrawal::Done);
    assert_eq!(store.find_key(message(2, "two").key).expect(OK), None);
    assert_ne!(add(store, &message(2, "two")), second, "what was taken back can be said again");
}

fn the_oldest_are_claimed_first_and_once(store: &impl MessageStore) {
    let mut all = Vec::new();
    for number in 0..5 {
        all.push(add(store, &message(number, "x")));
    }
    let (first, left) = claim(store, 2);
    assert_eq!((ids(&first), left), (all[..2].to_vec(), 3));
    assert_eq!(store.list_waiting(project(), 10).expect(OK).1, 5, "a claim is no delivery");
    assert_eq!(store.claim(project(), 2, Others::Wait).expect(OK), Claimed::Busy);
    store.acknowledge(&ids(&first), 20).expect(OK);
    let delivered = store.find_message(all[0]).expect(OK).map(|found| found.state);
    assert_eq!(delivered, Some(MessageState::Delivered(20)));
    let (rest, left) = claim(store, 10);
    assert_eq!((ids(&rest), left), (all[2..].to_vec(), 0));
    store.acknowledge(&ids(&rest), 21).expect(OK);
    assert_eq!(claim(store, 10), (Vec::new(), 0));
}

fn a_project_gets_its_own_messages_and_those_for_everybody(store: &impl MessageStore) {
    let elsewhere = NewMessage { project: Some("/somewhere/project-2".into()), ..message(1, "elsewhere") };
    add(store, &elsewhere);
    let everybody = add(store, &NewMessage { project: None, ..message(2, "everybody") });
    let own = add(store, &message(3, "own"));
    let newest = store.newest(Some(project())).expect(OK).map(|(id, _)| id);
    assert_eq!(newest, Some(own));
    let last = add(store, &NewMessage { key: [4; 32], ..elsewhere });
    assert_eq!(store.newest(None).expect(OK), Some((last, "src/main.rs".into())));
    let (claimed, left) = claim(store, 10);
    assert_eq!((ids(&claimed), left), (vec![everybody, own], 0));
}

fn what_is_released_is_delivered_later(store: &impl MessageStore) {
    let id = add(store, &message(1, "x"));
    let (claimed, _) = claim(store, 10);
    store.release(&ids(&claimed)).expect(OK);
    let (again, _) = claim(store, 10);
    assert_eq!(ids(&again), [id]);
}

fn one_reader_at_a_time_delivers<S: MessageStore>(make: &impl Fn() -> Arc<S>, again: &impl Fn(&S) -> Arc<S>) {
    let one = make();
    let mut all = Vec::new();
    for number in 0..3 {
        all.push(add(&*one, &message(number, "x")));
    }
    let (claimed, _) = claim(&*one, 2);
    let two = again(&one);
    assert_eq!(two.claim(project(), 2, Others::Wait).expect(OK), Claimed::Busy);
    assert_eq!(two.withdraw(all[0], 1).expect(OK), Withdrawal::Claimed);
    match two.claim(project(), 2, Others::PassOver).expect(OK) {
        Claimed::Messages(messages, left) => assert_eq!((ids(&messages), left), (vec![all[2]], 0)),
        Claimed::Busy => panic!("others are passed over"),
    }
    two.release(&ids(&claimed)).expect(OK);
    assert_eq!(two.claim(project(), 2, Others::Wait).expect(OK), Claimed::Busy, "only the own claims are given back");
    drop(one);
    match two.claim(project(), 5, Others::PassOver).expect(OK) {
        Claimed::Messages(messages, _) => assert_eq!(ids(&messages), all[..2], "the claims of who is gone are void"),
        Claimed::Busy => panic!("others are passed over"),
    }
}

fn only_what_waits_can_be_withdrawn(store: &impl MessageStore) {
    let (first, second) = (add(store, &message(1, "x")), add(store, &message(2, "y")));
    assert_eq!(store.withdraw(first, 30).expect(OK), Withdrawal::Done);
    let (claimed, _) = claim(store, 10);
    assert_eq!(ids(&claimed), [second]);
    store.acknowledge(&[second], 31).expect(OK);
    for (id, state) in [(first, MessageState::Withdrawn(30)), (second, MessageState::Delivered(31))] {
        match store.withdraw(id, 40).expect(OK) {
            Withdrawal::TooLate(found) => assert_eq!(found.state, state),
            other => panic!("{other:?}"),
        }
    }
}

fn messages_are_found_by_words_place_and_state(store: &impl MessageStore) {
    let anchor = Anchor { text: Vec::new(), first_line: 1, whole: true, symbol: Some("Limiter::take".to_owned()) };
    let first = add(store, &NewMessage { anchor: Some(anchor), ..message(1, "Retries should back off") });
    let second =
        add(store, &NewMessage { file: "docs/guide_100%.md".into(), ..message(2, "変更をコミットする前に確認") });
    let third = add(store, &NewMessage { project: Some("/elsewhere".into()), ..message(3, "retry forever?") });
    let words = |words: &str| MessageQuery { words: Some(words.to_owned()), ..MessageQuery::default() };
    assert_eq!(list(store, MessageQuery::default()), [third, second, first]);
    let mut retries = list(store, words("retry"));
    retries.sort();
    assert_eq!(retries, [first, third], "in whatever form");
    assert_eq!(list(store, words("retries back")), [first], "all words must occur");
    assert_eq!(list(store, words("limiter")), [first]);
    assert_eq!(list(store, words("コミット")), [second]);
    assert_eq!(list(store, words("imit")), [first], "a part of a word, where no whole one is found");
    assert_eq!(list(store, MessageQuery { path: Some("_100%".to_owned()), ..words("確認") }), [second]);
    assert_eq!(list(store, MessageQuery { path: Some("%".to_owned()), ..MessageQuery::default() }), [second]);
    assert_eq!(list(store, MessageQuery { project: Some(project().to_owned()), ..words("retry") }), [first]);
    assert_eq!(list(store, MessageQuery { since: Some(8), ..MessageQuery::default() }), []);
    store.withdraw(third, 9).expect(OK);
    assert_eq!(list(store, MessageQuery { state: Some("withdrawn"), ..MessageQuery::default() }), [third]);
    let cut = store.list_messages(&MessageQuery { limit: 2, ..MessageQuery::default() }).expect(OK);
    assert_eq!((ids(&cut.0), cut.1), (vec![third, second], true));
}

fn messages_are_found_by_their_very_file(store: &impl MessageStore) {
    let files = [&b"a.rs"[..], b"data.rs", b"A.rs", b"a\xff.rs", b"a\xfe.rs", "a\u{fffd}.rs".as_bytes()];
    for (number, file) in (0..).zip(files) {
        add(store, &NewMessage { file: RepoPath::new(file), ..message(number, "x") });
    }
    for file in files {
        let query = MessageQuery { file: Some(RepoPath::new(file)), limit: 10, ..MessageQuery::default() };
        let (found, more) = store.list_messages(&query).expect(OK);
        let found: Vec<&[u8]> = found.iter().map(|message| message.sent.file.as_bytes()).collect();
        assert_eq!((found, more), (vec![file], false), "however alike others are");
    }
}

fn messages_are_read_on_without_their_code(store: &impl MessageStore) {
    assert_eq!(store.list_bare(MessageId(0), 10).expect(OK), []);
    let anchor = Anchor { text: b"code".to_vec(), first_line: 1, whole: true, symbol: Some("main".to_owned()) };
    let mut sent = Vec::new();
    for number in 0..5 {
        let message = NewMessage { anchor: Some(anchor.clone()), ..message(number, "x") };
        sent.push((add(store, &message), message));
    }
    let (mut read, mut after) = (Vec::new(), MessageId(0));
    loop {
        let page = store.list_bare(after, 2).expect(OK);
        let Some(last) = page.last() else { break };
        after = last.id;
        assert!(page.len() <= 2);
        read.extend(page);
    }
    let expected = sent.into_iter().map(|(id, sent)| {
        let sent = NewMessage { anchor: None, ..sent };
        Message { id, sent, stored_at: 7, state: MessageState::Waiting }
    });
    assert_eq!(read, expected.collect::<Vec<_>>());
}

fn any_text_is_a_query(store: &impl MessageStore) {
    add(store, &message(1, "x"));
    for text in ["\"", "'", "a AND", "NEAR(", "*", "-", "col:x", "\0", "%", "_", ";DROP TABLE messages", "(", "日本"]
    {
        let query =
            MessageQuery { words: Some(text.to_owned()), path: Some(text.to_owned()), ..MessageQuery::default() };
        list(store, query);
    }
}

fn many_words_are_a_query_and_too_many_are_refused(store: &impl MessageStore) {
    let id = add(store, &message(1, "the heron stands"));
    let asked = |words: String| MessageQuery { words: Some(words), limit: 10, ..MessageQuery::default() };
    // Whole words, and parts of words.
    for word in ["heron ", "ero "] {
        assert_eq!(list(store, asked(word.repeat(MESSAGE_WORDS_MAX))), [id], "{word}");
        let refused = store.list_messages(&asked(word.repeat(MESSAGE_WORDS_MAX + 1)));
        assert!(matches!(refused, Err(StoreError::BadQuery(_))), "{refused:?}");
    }
    assert_eq!(list(store, asked("%".repeat(MESSAGE_WORDS_BYTES))), []);
    let refused = store.list_messages(&asked("%".repeat(MESSAGE_WORDS_BYTES + 1)));
    assert!(matches!(refused, Err(StoreError::BadQuery(_))), "{refused:?}");
}

fn a_write_of_another_process_is_told<S: MessageStore>(make: &impl Fn() -> Arc<S>, again: &impl Fn(&S) -> Arc<S>) {
    let one = make();
    let changes = one.watch().expect(OK);
    let two = again(&one);
    for number in 0..3 {
        let seen = changes.last();
        add(&*two, &message(number, "x"));
        assert_ne!(changes.wait(seen, Some(PATIENCE), &Cancel::default()), seen);
    }
}
