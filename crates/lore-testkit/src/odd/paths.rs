//! Names of files: bytes in no encoding, everything that needs quoting, and the directories that are left out by default.

use super::{
    shape::lines,
    stream::{Commit, Stream},
};

/// Paths that some tool or other gets wrong.
pub(super) fn odd_paths() -> Vec<Vec<u8>> {
    let text = [
        "new\nline.txt",
        "ta\tb.txt",
        "double\"quote.txt",
        "single'quote.txt",
        "back\\slash.txt",
        "two  spaces.txt",
        " leading space.txt",
        "trailing space ",
        "-dash.txt",
        "--output=x",
        ":(exclude)colon.txt",
        ":100644 raw.txt",
        "glob[a-z]*?.txt",
        "brace{a => b}.txt",
        "#hash",
        "!bang",
        "per%cent_under",
        "control\u{1}\u{1b}[31m\u{7f}.txt",
        "carriage\rreturn.txt",
        "composed-\u{e9}.txt",
        "decomposed-e\u{301}.txt",
        "日本/語.txt",
        "emoji-🦀.txt",
        "bidi-\u{202e}txt.exe",
        // The header `diff --git a/x b/x b/x b/x` can be read in more than one way.
        "x b/x",
        "a/b/c",
        "dev/null",
        "case.txt",
        "CASE.txt",
        "\"quoted\"",
    ];
    let mut paths: Vec<Vec<u8>> = text.iter().map(|path| path.as_bytes().to_vec()).collect();
    paths.push(b"not-utf8-\xff\xfe.txt".to_vec());
    paths.push(b"latin1-caf\xe9/\xe4\xf6\xfc.txt".to_vec());
    paths.push([b"long/".to_vec(), vec![b'n'; 250]].concat());
    paths.push([b"deep/directory-in-a-directory/".repeat(60), b"leaf.txt".to_vec()].concat());
    paths
}

/// Adds, edits, renames and deletes them.
pub(super) fn paths(stream: &mut Stream) {
    let all = odd_paths();
    let content = |index: usize, tail: &str| format!("{}{tail}", lines(&format!("path {index}"), 5));
    let each = |commit: Commit, write: &dyn Fn(Commit, usize, &[u8]) -> Commit| {
        all.iter().enumerate().fold(commit, |commit, (index, path)| write(commit, index, path))
    };
    stream.push(each(Commit::new("odd-paths"), &|commit, index, path| commit.file(path, content(index, ""))));
    stream.push(each(Commit::new("odd-paths-edited"), &|commit, index, path| {
        commit.file(path, content(index, "more\n"))
    }));
    stream.push(each(Commit::new("odd-paths-renamed"), &|commit, _, path| {
        commit.rename(path, [b"moved/".as_slice(), path].concat())
    }));
    stream.push(Commit::new("odd-path-mode").entry("100755", b"moved/not-utf8-\xff\xfe.txt", content(30, "more\n")));
    stream.push(Commit::new("odd-path-binary").file(b"moved/new\nline.txt", b"\0binary\0"));
    stream.push(
        Commit::new("odd-path-binary-changed")
            .file(b"moved/new\nline.txt", b"\0binary too\0")
            .file(b"moved/\xff.bin", b"\0"),
    );
    // A working tree of the newest commit must be possible on every file system.
    stream.push(Commit::new("odd-paths-deleted").delete("moved"));
}

/// Changes below `node_modules/`, `vendor/` and `dist/`, and beside them.
pub(super) fn excluded(stream: &mut Stream) {
    stream.push(Commit::new("vendor-only").file("vendor/x.txt", lines("x", 20)));
    stream.push(Commit::new("node-modules-only").file("node_modules/left-pad/index.js", "pad()\n"));
    stream.push(Commit::new("dist-only").file("dist/app.js", "app()\n").file("dist/app.map", "{}\n"));
    stream.push(Commit::new("vendor-and-source").file("vendor/y.txt", lines("y", 20)).file("src/near.txt", "near\n"));
    stream.push(Commit::new("vendor-to-source").rename("vendor/x.txt", "src/x.txt"));
    stream.push(Commit::new("source-to-vendor").rename("src/x.txt", "vendor/x.txt"));
    stream.push(Commit::new("vendor-to-dist").rename("vendor/y.txt", "dist/y.txt"));
    stream.push(
        Commit::new("copy-from-vendor").copy("vendor/x.txt", "src/copied.txt").file("vendor/x.txt", lines("x", 21)),
    );
    stream.push(Commit::new("vendor-binary-and-text").file("vendor/b.bin", b"\0\x01").file("src/near.txt", "nearer\n"));
    stream.push(Commit::new("binary-and-vendor-text").file("src/b.bin", b"\0\x01").file("vendor/t.txt", "text\n"));
    stream.push(
        Commit::new("lookalikes")
            .file("vendored.txt", "not excluded\n")
            .file("Vendor/z.txt", "not excluded either\n")
            .file("src/vendor/w.txt", "only root prefixes count\n")
            .file("node_modules.txt", "a file\n")
            .file("distant/d.txt", "another prefix\n"),
    );
    stream.push(Commit::new("vendor-becomes-file").delete("vendor").file("vendor", "now a file\n"));
    stream.push(Commit::new("vendor-is-directory-again").delete("vendor").file("vendor/x.txt", lines("x", 20)));
    stream.push(Commit::new("lookalikes-deleted").delete("Vendor"));
}
