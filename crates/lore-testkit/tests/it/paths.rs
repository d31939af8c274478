//! Names of files, and the directories that are left out.

use std::collections::BTreeSet;

use lore_testkit::oracle::Truth;

use crate::Odd;

#[test]
fn odd_paths_are_in_the_tree_byte_for_byte() {
    let odd = Odd::shared();
    let printed = odd.git.bytes(&["ls-tree", "-r", "-z", "--name-only", odd.repo.id("odd-paths")]).unwrap();
    let paths: BTreeSet<&[u8]> = printed.split(|&byte| byte == 0).collect();
    for path in [
        b"new\nline.txt".as_slice(),
        b"ta\tb.txt",
        b"double\"quote.txt",
        b"back\\slash.txt",
        b"two  spaces.txt",
        b" leading space.txt",
        b"trailing space ",
        b"-dash.txt",
        b":(exclude)colon.txt",
        b"glob[a-z]*?.txt",
        "composed-\u{e9}.txt".as_bytes(),
        "decomposed-e\u{301}.txt".as_bytes(),
        "日本/語.txt".as_bytes(),
        b"not-utf8-\xff\xfe.txt",
        b"latin1-caf\xe9/\xe4\xf6\xfc.txt",
        b"x b/x",
        b"case.txt",
        b"CASE.txt",
    ] {
        assert!(paths.contains(path), "{}", path.escape_ascii());
    }
    assert!(paths.iter().any(|path| path.len() > 1_500), "a very deep path");
}

#[test]
fn odd_paths_are_quoted_in_the_patch_and_renamed() {
    let odd = Odd::shared();
    let patch = String::from_utf8(odd.patch("odd-paths-renamed")).unwrap();
    for line in [
        "diff --git \"a/new\\nline.txt\" \"b/moved/new\\nline.txt\"\n",
        "rename from \"not-utf8-\\377\\376.txt\"\n",
        "rename to moved/x b/x\n",
        "rename from trailing space \n",
        "rename from \"\\346\\227\\245\\346\\234\\254/\\350\\252\\236.txt\"\n",
    ] {
        assert!(patch.contains(line), "{line}");
    }
    assert_eq!(patch.matches("similarity index 100%\n").count(), 34);
}

#[test]
fn the_newest_tree_can_be_checked_out_anywhere() {
    let odd = Odd::shared();
    let printed = odd.git.text(&["ls-tree", "-r", "--name-only", "HEAD"]).unwrap();
    let lower: Vec<String> = printed.lines().map(str::to_lowercase).collect();
    assert_eq!(lower.iter().collect::<BTreeSet<_>>().len(), lower.len(), "no two differ in case only");
    assert!(!printed.contains(['"', '\\', ':', '*', '?']) && printed.is_ascii());
    assert_eq!(odd.git.text(&["status", "--porcelain", "--no-ahead-behind"]).unwrap(), "");
}

#[test]
fn excluded_directories_are_there_and_left_out() {
    let odd = Odd::shared();
    let truth = Truth::open(&odd.repo.path, None).unwrap();
    for (label, with, without) in [
        ("vendor-only", "A vendor/x.txt", ""),
        ("node-modules-only", "A node_modules/left-pad/index.js", ""),
        ("dist-only", "A dist/app.js | A dist/app.map", ""),
        ("vendor-and-source", "A src/near.txt | A vendor/y.txt", "A src/near.txt"),
        ("vendor-to-source", "R100 vendor/x.txt src/x.txt", "A src/x.txt"),
        ("source-to-vendor", "R100 src/x.txt vendor/x.txt", "D src/x.txt"),
        ("vendor-to-dist", "R100 vendor/y.txt dist/y.txt", ""),
        ("copy-from-vendor", "C100 vendor/x.txt src/copied.txt | M vendor/x.txt", "A src/copied.txt"),
        ("vendor-becomes-file", "A vendor | D vendor/b.bin | D vendor/t.txt | D vendor/x.txt", "A vendor"),
    ] {
        assert_eq!(odd.status(label), with, "{label}");
        let files = truth.files(odd.repo.id(label)).unwrap();
        let shown: Vec<String> =
            files.iter().map(|file| format!("{} {}", file.status, String::from_utf8_lossy(&file.path))).collect();
        assert_eq!(shown.join(" | "), without, "{label}");
    }
    assert_eq!(truth.files(odd.repo.id("lookalikes")).unwrap().len(), 5);
}
