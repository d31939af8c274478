//! Messages, people and dates: what git makes of them.

use crate::Odd;

#[test]
fn messages_are_split_into_subject_and_body() {
    let odd = Odd::shared();
    for (label, subject, body) in [
        ("message-none", b"".as_slice(), b"".as_slice()),
        ("message-blank", b"", b""),
        ("message-spaces", b"", b""),
        ("message-without-newline", b"No newline at the end", b""),
        ("message-subject-of-lines", b"A subject that goes on   and on", b"And its body\n"),
        ("message-leading-blank-lines", b"Subject after blank lines", b"Body after blank lines\n\n\n"),
        ("message-crlf", b"Subject", b"Body\r\nof two lines\r\n"),
        ("message-carriage-returns", b"Subject\rwith returns\r\rand more", b""),
        ("message-latin1-undeclared", b"Caf\xe9 without a header", b"\xff\xfe\n"),
        ("message-cut-utf8", b"Cut \xe2\x82", b"Body \xf0\x9f\xa6\n"),
        ("message-latin1-declared", "Café declared".as_bytes(), "Größe\n".as_bytes()),
        ("message-encoding-unknown", b"Unknown \xe9", b""),
        ("message-utf8-declared-latin1", "GrÃ¶Ã\u{9f}e".as_bytes(), b""),
        ("message-comment-lines", b"# not a comment", b"# nor this\n---\npatch\n"),
        // Git ends a message at its first NUL.
        ("raw-nul-in-subject", b"sub", b""),
        ("raw-nul-in-body", b"subject", b"bo"),
        ("raw-nul-first", b"", b""),
        ("raw-without-message", b"", b""),
        ("raw-signed", b"Commit raw-signed", b""),
        ("raw-other-headers", b"Commit raw-other-headers", b""),
    ] {
        let printed = odd.format(label, "%s%x00%b");
        let (s, b) = printed.split_at(printed.iter().position(|&byte| byte == 0).unwrap());
        assert_eq!(s.escape_ascii().to_string(), subject.escape_ascii().to_string(), "{label}");
        assert_eq!(b[1..].escape_ascii().to_string(), body.escape_ascii().to_string(), "{label}");
    }
    assert!(odd.format("message-long", "%B").len() > 250_000);
    assert!(odd.format("message-long-subject", "%s").len() > 70_000);
}

#[test]
fn objects_hold_what_git_does_not_show() {
    let odd = Odd::shared();
    let object = |label: &str| odd.git.bytes(&["cat-file", "commit", odd.repo.id(label)]).unwrap();
    let contains = |label: &str, part: &[u8]| object(label).windows(part.len()).any(|window| window == part);
    assert!(contains("raw-nul-in-body", b"bo\0dy\n"));
    assert!(contains("raw-nul-in-author", b"author Ada\0Author <"));
    assert!(contains("message-latin1-declared", b"encoding ISO-8859-1\n"));
    assert!(!contains("message-latin1-undeclared", b"encoding "));
    assert!(contains("raw-signed", b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n"));
    assert!(contains("raw-date-negative", b"<ada@example.com> -86400 +0000\n"));
    let padded = odd.git.bytes(&["cat-file", "tree", &format!("{}^{{tree}}", odd.repo.id("raw-mode-padded"))]).unwrap();
    assert!(padded.windows(11).any(|window| window == b"040000 src\0"));
}

#[test]
fn people_are_read_as_git_reads_them() {
    let odd = Odd::shared();
    for (label, name, email) in [
        ("author-without-name", b"".as_slice(), b"nobody@example.com".as_slice()),
        ("author-without-email", b"Nobody", b""),
        ("author-latin1", b"Ren\xe9", b"rene@example.com"),
        ("author-latin1-declared", "René".as_bytes(), b"rene@example.com"),
        ("raw-empty-names", b"", b""),
        ("raw-without-address", b"", b""),
        ("raw-nested-brackets", b"Ada", b"x"),
        ("raw-author-missing", b"", b""),
        ("raw-nul-in-author", b"", b""),
    ] {
        assert_eq!(odd.format(label, "%an%x00%ae"), [name, email].join(&0), "{label}");
    }
    // The mailmap has a say in `%aN` only.
    assert_eq!(odd.text("root", "%an %aN"), "Ada Author Ada Lovelace");
}

#[test]
fn dates_are_digits_of_any_length_or_nothing() {
    let odd = Odd::shared();
    for (label, date) in [
        ("date-zero", "0 0"),
        ("date-impossible-zone", "1600000000 1600000000"),
        ("date-2106", "4294967296 4294967296"),
        ("date-year-10000", "253402300800 253402300800"),
        ("date-older-than-parent", "1000000000 1000000000"),
        ("raw-author-without-date", " 1600050000"),
        ("raw-without-dates", " "),
        ("raw-date-negative", " "),
        ("raw-date-i64-max", "9223372036854775807 9223372036854775807"),
        ("raw-date-over-i64", "9223372036854775808 9223372036854775808"),
        ("raw-date-over-u64", "99999999999999999999999 99999999999999999999999"),
        ("raw-date-words", " "),
        ("raw-date-without-zone", " "),
        ("raw-date-zone-words", " "),
        ("raw-committer-missing", "1600050000 "),
        ("raw-people-missing", " "),
    ] {
        assert_eq!(odd.text(label, "%at %ct"), date, "{label}");
    }
}
