//! The shapes that a history takes: renames and copies, merges of every kind, several roots, changes of mode and type.

use super::stream::{Commit, Stream};

/// Enough different lines that git can tell two files apart and recognise an edited one.
pub(super) fn lines(word: &str, count: usize) -> String {
    let lines: Vec<_> = (1..=count).map(|n| format!("{word} line {n} of the file\n")).collect();
    lines.concat()
}

fn edited(word: &str, count: usize) -> String {
    lines(word, count).replace("line 3 of", "line three of")
}

/// The beginning, up to the deletion of every file.
pub(super) fn beginnings(stream: &mut Stream) {
    stream.push(
        Commit::new("root")
            .message("Begin\n")
            .file("README.md", "# Odd\n")
            .file("src/one.txt", lines("one", 30))
            .file("src/two.txt", lines("two", 30))
            .file("notes/empty", ""),
    );
    stream.push(Commit::new("edit").file("src/one.txt", edited("one", 30)));
    stream.push(Commit::new("empty"));
    stream.push(Commit::new("delete-everything").delete_everything());
    stream.push(
        Commit::new("begin-again")
            .file("README.md", "# Odd again\n")
            .file(".mailmap", "Ada Lovelace <ada@lovelace.example> Ada Author <ada@example.com>\n")
            .file("src/one.txt", lines("one", 30))
            .file("src/two.txt", lines("two", 30))
            .file("src/three.txt", lines("three", 30))
            .file("lib/a.txt", lines("a", 20))
            .file("lib/b.txt", lines("b", 20))
            .file("lib/sub/c.txt", lines("c", 20))
            .file("notes/empty", "")
            .file("run.sh", "#!/bin/sh\necho hello\n"),
    );
}

/// Renames and copies, exact and edited.
pub(super) fn renames(stream: &mut Stream) {
    stream.push(Commit::new("rename").rename("src/one.txt", "src/uno.txt"));
    stream.push(Commit::new("rename-and-edit").delete("src/two.txt").file("src/dos.txt", edited("two", 30)));
    stream.push(Commit::new("copy").copy("src/three.txt", "src/tres.txt").file("src/three.txt", edited("three", 30)));
    stream.push(
        Commit::new("copy-and-edit")
            .file("src/cuatro.txt", lines("three", 30).replace("line 9 of", "line nine of"))
            .file("src/three.txt", lines("three", 31)),
    );
    // The source is unchanged, so that `-C` alone must not find it.
    stream.push(Commit::new("copy-of-unchanged").copy("src/uno.txt", "src/uno-copy.txt"));
    stream.push(
        Commit::new("rename-to-two")
            .copy("src/tres.txt", "src/tres-1.txt")
            .copy("src/tres.txt", "src/tres-2.txt")
            .delete("src/tres.txt"),
    );
    stream.push(Commit::new("rename-directory").rename("lib", "library"));
    stream.push(Commit::new("rename-empty-file").rename("notes/empty", "notes/still-empty"));
    stream.push(Commit::new("swap").file("src/uno.txt", edited("two", 30)).file("src/dos.txt", lines("one", 30)));
    let many = 1_001;
    let all = |commit: Commit, dir: &str, word: &str| {
        (0..many).fold(commit, |commit, n| {
            commit.file(format!("{dir}/{n}.txt"), format!("{n} and\n{n} once more\n{word}\n"))
        })
    };
    stream.push(all(Commit::new("many-files"), "many", "first"));
    // More than 1,000 candidates on each side: with `-l1000` git gives up on inexact renames.
    stream.push(all(Commit::new("renames-past-limit").delete("many"), "more", "second"));
    stream.push(Commit::new("many-files-deleted").delete("more"));
}

/// Merges: clean, with a resolved conflict, without effect, of many branches, of unrelated histories.
pub(super) fn merges(stream: &mut Stream) {
    stream.push(Commit::new("fork").file("merge/shared.txt", lines("shared", 9)));
    stream.push(
        Commit::new("theirs")
            .on("refs/heads/theirs")
            .from("fork")
            .file("merge/shared.txt", lines("theirs", 9))
            .file("merge/theirs.txt", "new\n"),
    );
    stream.push(Commit::new("ours").file("merge/shared.txt", lines("ours", 9)));
    stream.push(
        Commit::new("merge-conflict")
            .merge("theirs")
            .message("Merge branch 'theirs'\n\n# Conflicts:\n#\tmerge/shared.txt\n")
            .file("merge/shared.txt", lines("both", 9))
            .file("merge/theirs.txt", "new\n"),
    );
    stream
        .push(Commit::new("ignored").on("refs/heads/ignored").from("fork").file("merge/ignored.txt", "never merged\n"));
    stream.push(Commit::new("merge-without-effect").merge("ignored"));
    stream.push(
        Commit::new("moved").on("refs/heads/moved").from("merge-conflict").rename("src/dos.txt", "src/moved.txt"),
    );
    stream.push(Commit::new("merge-of-rename").merge("moved").rename("src/dos.txt", "src/moved.txt"));
    for (label, branch, file) in [
        ("arm-1", "refs/heads/arm-1", "octopus/1.txt"),
        ("arm-2", "refs/heads/arm-2", "octopus/2.txt"),
        ("arm-3", "refs/heads/arm-3", "octopus/3.txt"),
    ] {
        stream.push(Commit::new(label).on(branch).from("merge-of-rename").file(file, lines(label, 3)));
    }
    let octopus = Commit::new("octopus").merge("arm-1").merge("arm-2").merge("arm-3");
    stream.push(
        (1..=3).fold(octopus, |commit, n| commit.file(format!("octopus/{n}.txt"), lines(&format!("arm-{n}"), 3))),
    );
    stream.push(Commit::new("orphan-root").on("refs/heads/orphan").file("orphan/a.txt", lines("orphan", 5)));
    stream.push(Commit::new("orphan-second").on("refs/heads/orphan").file("orphan/a.txt", lines("orphan", 6)));
    stream.push(Commit::new("orphan-merge").merge("orphan-second").file("orphan/a.txt", lines("orphan", 6)));
    stream.push(Commit::new("empty-root").on("refs/heads/nothing"));
    stream.push(Commit::new("empty-root-merge").merge("empty-root"));
}

/// Changes of mode and type.
pub(super) fn kinds(stream: &mut Stream, hex_len: usize) {
    let (first, second) = ("1".repeat(hex_len), "2".repeat(hex_len));
    let script = "#!/bin/sh\necho hello\n";
    stream.push(Commit::new("mode-executable").entry("100755", "run.sh", script));
    stream.push(Commit::new("mode-plain").entry("100644", "run.sh", script));
    stream.push(Commit::new("mode-and-edit").entry("100755", "run.sh", "#!/bin/sh\necho good bye\n"));
    stream.push(Commit::new("mode-and-rename").delete("run.sh").entry("100644", "go.sh", "#!/bin/sh\necho good bye\n"));
    stream.push(Commit::new("symlink-added").symlink("link", "README.md").symlink("broken-link", "no/such\nfile"));
    stream.push(Commit::new("symlink-changed").symlink("link", "src"));
    stream.push(Commit::new("symlink-to-file").file("link", "now a file\n"));
    stream.push(Commit::new("file-to-symlink").symlink("link", "README.md"));
    stream.push(Commit::new("symlink-to-submodule").submodule("link", &first));
    stream.push(Commit::new("submodule-to-file").file("link", "a file again\n"));
    stream.push(Commit::new("file-to-submodule").submodule("link", &second));
    stream.push(Commit::new("submodule-to-symlink").symlink("link", "README.md"));
    stream.push(
        Commit::new("submodule-added")
            .file(".gitmodules", "[submodule \"part\"]\n\tpath = parts/part\n\turl = ../part\n")
            .submodule("parts/part", &first),
    );
    stream.push(Commit::new("submodule-changed").submodule("parts/part", &second));
    stream.push(Commit::new("submodule-renamed").delete("parts/part").submodule("parts/piece", &second));
    stream.push(Commit::new("submodule-deleted").delete("parts/piece").delete(".gitmodules"));
    stream.push(Commit::new("file-to-directory").delete("go.sh").file("go.sh/inside.txt", "inside\n"));
    stream.push(Commit::new("directory-to-file").delete("go.sh").file("go.sh", script));
}
