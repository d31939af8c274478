//! What files hold: binary data, text that imitates git's own output, patches at the size limit, every kind of line end.

use super::{
    PATCH_CAP,
    shape::lines,
    stream::{Commit, Stream},
};

/// Bytes that git takes for binary, different for each seed.
fn binary(seed: u8) -> Vec<u8> {
    (0..2_000_u32).map(|n| u8::try_from((n * 7 + u32::from(seed)) % 251).expect("below 251")).collect()
}

/// Text in which the first NUL is the byte with this index.
fn text_with_nul_at(index: usize, rest: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = b"0123456\n".iter().copied().cycle().take(index).collect();
    bytes.push(0);
    bytes.extend(rest);
    bytes
}

/// Lines that look like the headers and records of `git log` in every format.
fn imitations(hex_len: usize) -> String {
    let (id, zero) = ("ab12".repeat(hex_len / 4), "0".repeat(hex_len));
    format!(
        "diff --git a/forged.txt b/forged.txt\nnew file mode 100644\nindex {zero}..{id}\n--- /dev/null\n+++ b/forged.txt\n@@ -0,0 +1 @@\n+forged\n\
         commit {id}\nAuthor: Forger <forger@example.com>\nDate:   Thu Jan 1 00:00:00 1970 +0000\n\n    Forged\n\n\
         :100644 100644 {zero} {id} M\tforged.txt\nBinary files a/x and b/x differ\n\\ No newline at end of file\n"
    )
}

/// The same as NUL-separated records.
fn forged_records(hex_len: usize) -> Vec<u8> {
    let (id, zero) = ("cd34".repeat(hex_len / 4), "0".repeat(hex_len));
    format!(
        "\0\n{id}\0Forger\0forger@example.com\0100\0Forged subject\0Forged body\0\0\n\
         :100644 100644 {zero} {id} M\0forged.txt\0\0diff --git a/forged.txt b/forged.txt\n"
    )
    .into_bytes()
}

/// Binary files alone and beside text, and text that is nearly binary.
pub(super) fn binaries(stream: &mut Stream, hex_len: usize) {
    stream.push(Commit::new("binary-added").file("data/image.bin", binary(1)));
    stream.push(Commit::new("binary-changed").file("data/image.bin", binary(2)));
    stream.push(
        Commit::new("binary-and-text").file("data/image.bin", binary(3)).file("data/about.txt", "About the image\n"),
    );
    stream.push(Commit::new("binary-renamed").rename("data/image.bin", "data/picture.bin"));
    let mut nearly = binary(3);
    nearly[1_000] ^= 1;
    stream.push(Commit::new("binary-renamed-and-edited").delete("data/picture.bin").file("data/photo.bin", nearly));
    stream.push(Commit::new("binary-mode").entry("100755", "data/photo.bin", binary(4)));
    stream.push(Commit::new("binary-to-text").file("data/photo.bin", "only text now\n"));
    stream.push(Commit::new("binary-several").file("data/1.bin", binary(5)).file("data/2.bin", binary(6)));
    stream.push(Commit::new("binary-deleted").delete("data/1.bin").delete("data/2.bin"));
    stream.push(
        Commit::new("utf16-text")
            .file("data/utf16.txt", "\u{feff}wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()),
    );
    stream.push(Commit::new("nul-at-7999").file("data/nul-7999.txt", text_with_nul_at(7_999, b"end\n")));
    stream.push(Commit::new("nul-at-8000").file("data/nul-8000.txt", text_with_nul_at(8_000, b"end\n")));
    stream.push(Commit::new("imitations").file("data/imitations.txt", imitations(hex_len)));
    stream.push(Commit::new("imitations-deleted").delete("data/imitations.txt"));
    stream
        .push(Commit::new("forged-records").file("data/forged.txt", text_with_nul_at(8_000, &forged_records(hex_len))));
    stream.push(
        Commit::new("forged-records-changed")
            .file("data/forged.txt", text_with_nul_at(8_008, &forged_records(hex_len))),
    );
}

/// Patches at the limit and over it.
pub(super) fn sizes(stream: &mut Stream, hex_len: usize) {
    stream.push(Commit::new("patch-at-cap").file("big/at-cap.txt", sized("big/at-cap.txt", hex_len, PATCH_CAP)));
    stream.push(
        Commit::new("patch-over-cap").file("big/over-cap.txt", sized("big/over-cap.txt", hex_len, PATCH_CAP + 1)),
    );
    stream.push(Commit::new("patch-far-over-cap").file("big/at-cap.txt", lines("rewritten", 40_000)));
    stream.push(Commit::new("big-files-deleted").delete("big"));
    stream.push(Commit::new("one-long-line").file("long-line.txt", "long ".repeat(40_000)));
}

/// A file whose addition is a patch of exactly so many bytes.
fn sized(path: &str, hex_len: usize, patch_len: usize) -> Vec<u8> {
    const LINES: usize = 20_000;
    let (zero, id) = ("0".repeat(hex_len), "1".repeat(hex_len));
    let header = format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\nindex {zero}..{id}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{LINES} @@\n"
    );
    // Each line costs its plus sign and its line end besides its text.
    let text = patch_len - header.len() - 2 * LINES;
    let mut content = Vec::with_capacity(patch_len);
    for n in 0..LINES {
        let width = text / LINES + usize::from(n < text % LINES);
        content.extend(format!("{n:0>width$}\n").into_bytes());
    }
    content
}

/// Line ends, encodings, empty files, attributes.
pub(super) fn texts(stream: &mut Stream) {
    stream.push(Commit::new("no-last-newline").file("text/cut.txt", "first\nsecond"));
    stream.push(Commit::new("last-newline-added").file("text/cut.txt", "first\nsecond\n"));
    stream.push(Commit::new("last-newline-removed").file("text/cut.txt", "first\nsecond"));
    stream.push(Commit::new("crlf").file("text/crlf.txt", "first\r\nsecond\r\nthird\r\n"));
    stream.push(Commit::new("crlf-to-lf").file("text/crlf.txt", "first\nsecond\nthird\n"));
    stream.push(
        Commit::new("mixed-line-ends").file("text/mixed.txt", "one\rtwo\r\nthree\n\rfour\n\u{c}\n\u{2028}five\n"),
    );
    stream.push(Commit::new("latin1-content").file("text/latin1.txt", b"caf\xe9\n"));
    stream.push(Commit::new("byte-order-mark").file("text/bom.txt", "\u{feff}marked\n"));
    stream.push(
        Commit::new("control-characters").file("text/control.txt", "\u{1b}[31mred\u{1b}[0m\u{7}\n\u{202e}reversed\n"),
    );
    stream.push(Commit::new("empty-file").file("text/empty.txt", ""));
    stream.push(Commit::new("empty-file-filled").file("text/empty.txt", "full\n"));
    stream.push(Commit::new("attributes").file(
        ".gitattributes",
        "*.txt diff=shout\n*.rs diff=rust\n*.lock -diff\n*.bin diff\n*.crlf text eol=crlf\n*.sub export-subst ident\n",
    ));
    let rust = |value: &str| {
        format!("mod a {{\n    fn first() {{\n{}        {value}\n    }}\n}}\n", "        call();\n".repeat(9))
    };
    stream.push(
        Commit::new("attributes-before")
            .file("text/shout.txt", "quiet\n")
            .file("text/code.rs", rust("one()"))
            .file("text/cargo.lock", "version 1\n")
            .file("text/attr.bin", binary(7))
            .file("text/id.sub", "$Id$\n"),
    );
    stream.push(
        Commit::new("attributes-after")
            .file("text/shout.txt", "still quiet\n")
            .file("text/code.rs", rust("two()"))
            .file("text/cargo.lock", "version 2\n")
            .file("text/attr.bin", binary(8)),
    );
}
