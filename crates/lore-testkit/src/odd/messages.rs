//! Messages, names and dates that git accepts from ordinary programs.

use super::{
    shape::lines,
    stream::{Commit, Stream},
};

/// Messages: none, long, folded, in other encodings, and ones that look like git's output.
pub(super) fn messages(stream: &mut Stream) {
    let long = format!("Long message\n\n{}", lines("message", 10_000));
    let long_subject = "word ".repeat(15_000);
    let cases: [(&str, &[u8]); 20] = [
        ("message-none", b""),
        ("message-blank", b"\n\n\n"),
        ("message-spaces", b"   \n \t \n"),
        ("message-without-newline", b"No newline at the end"),
        ("message-subject-of-lines", b"A subject\nthat goes on\n  and on\n\nAnd its body\n"),
        ("message-leading-blank-lines", b"\n\n  \nSubject after blank lines\n\n\n\nBody after blank lines\n\n\n"),
        ("message-subject-and-body", b"Subject\n\nBody of\ntwo lines\n\nSigned-off-by: Ada <ada@example.com>\n"),
        ("message-crlf", b"Subject\r\n\r\nBody\r\nof two lines\r\n"),
        ("message-carriage-returns", b"Subject\rwith returns\r\rand more"),
        ("message-trailing-spaces", b"Subject  \t \n\n  Indented body  \n"),
        ("message-long", long.as_bytes()),
        ("message-long-subject", long_subject.as_bytes()),
        ("message-latin1-undeclared", b"Caf\xe9 without a header\n\n\xff\xfe\n"),
        ("message-cut-utf8", b"Cut \xe2\x82\n\nBody \xf0\x9f\xa6\n"),
        ("message-unicode", "Größe 日本語 🦀 e\u{301}\n\nCrème brûlée\n".as_bytes()),
        (
            "message-controls",
            "\u{1b}[31mRed\u{1b}[0m \u{202e}reversed\u{200b}\u{7}\n\n\u{1}\u{7f}\u{feff}\n".as_bytes(),
        ),
        ("message-imitates-diff", b"diff --git a/x b/x\n\n--- a/x\n+++ b/x\n:100644 100644 0 1 M\tx\n"),
        (
            "message-imitates-log",
            b"commit 0123456789012345678901234567890123456789\nAuthor: x <x>\n\n%H%x00%n\x01\x02\n",
        ),
        ("message-comment-lines", b"# not a comment\n\n# nor this\n---\npatch\n"),
        ("message-quotes", b"'; DROP TABLE commits; -- \" \\ % _ ( NEAR\n"),
    ];
    for (number, (label, message)) in cases.into_iter().enumerate() {
        stream.push(Commit::new(label).message(message).file("messages.txt", format!("message {number}\n")));
    }
    stream.push(
        Commit::new("message-latin1-declared")
            .encoding("ISO-8859-1")
            .message(b"Caf\xe9 declared\n\nGr\xf6\xdfe\n")
            .file("messages.txt", "latin1\n"),
    );
    stream.push(
        Commit::new("message-shift-jis")
            .encoding("Shift_JIS")
            .message(b"\x93\xfa\x96\x7b\n")
            .file("messages.txt", "sjis\n"),
    );
    stream.push(
        Commit::new("message-encoding-unknown")
            .encoding("x-unknown")
            .message(b"Unknown \xe9\n")
            .file("messages.txt", "unknown\n"),
    );
    stream.push(
        Commit::new("message-encoding-wrong")
            .encoding("UTF-16")
            .message(b"Not UTF-16\n\nodd\n")
            .file("messages.txt", "wrong\n"),
    );
    stream.push(
        Commit::new("message-utf8-declared-latin1")
            .encoding("ISO-8859-1")
            .message("Größe\n")
            .file("messages.txt", "twice\n"),
    );
}

/// Names and dates.
pub(super) fn people(stream: &mut Stream) {
    let authors: [(&str, &[u8]); 7] = [
        ("author-latin1", b"Ren\xe9 <rene@example.com>"),
        ("author-unicode", "Zoë 日本 <zoë@example.com>".as_bytes()),
        ("author-without-name", b"<nobody@example.com>"),
        ("author-without-email", b"Nobody <>"),
        ("author-with-quotes", b"\"Quoted\" O'Name, Jr. <quoted+tag@example.com>"),
        ("author-with-controls", b"Red \x1b[31m\x7f <red@example.com>"),
        ("author-with-spaces", b"  Spaced   Out   <  spaced@example.com  >"),
    ];
    for (number, (label, author)) in authors.into_iter().enumerate() {
        stream.push(Commit::new(label).author(author).file("people.txt", format!("author {number}\n")));
    }
    stream.push(
        Commit::new("author-latin1-declared")
            .author(b"Ren\xe9 <rene@example.com>")
            .encoding("ISO-8859-1")
            .message(b"By Ren\xe9\n")
            .file("people.txt", "declared\n"),
    );
    let dates = [
        ("date-zero", "0 +0000"),
        ("date-far-west", "1600000000 -1200"),
        ("date-odd-zone", "1600000000 +0545"),
        ("date-minus-zero", "1600000000 -0000"),
        ("date-impossible-zone", "1600000000 +9999"),
        ("date-long-zone", "1600000000 +51800"),
        ("date-2038", "2147483648 +0000"),
        ("date-2106", "4294967296 +0000"),
        ("date-year-10000", "253402300800 +0000"),
        ("date-older-than-parent", "1000000000 +0000"),
    ];
    for (label, date) in dates {
        stream.push(Commit::new(label).date(date).file("people.txt", format!("{label}\n")));
    }
}
