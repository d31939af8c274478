//! Binary files, imitations, sizes, line ends, attributes.

use lore_testkit::{
    odd::PATCH_CAP,
    oracle::{ExpectedPatch, Truth},
};

use crate::Odd;

fn contains(patch: &[u8], part: &[u8]) -> bool {
    patch.windows(part.len()).any(|window| window == part)
}

#[test]
fn binary_files_have_no_text_in_their_patch() {
    let odd = Odd::shared();
    let truth = Truth::open(&odd.repo.path, None).unwrap();
    for label in [
        "binary-added",
        "binary-changed",
        "binary-renamed-and-edited",
        "binary-mode",
        "binary-several",
        "binary-deleted",
        "utf16-text",
        "nul-at-7999",
        "odd-path-binary",
        "odd-path-binary-changed",
        // The text beside it is below `vendor/`.
        "binary-and-vendor-text",
    ] {
        assert_eq!(truth.patch(odd.repo.id(label)).unwrap(), ExpectedPatch::BinaryOnly, "{label}");
    }
    for label in
        ["binary-and-text", "binary-renamed", "imitations", "nul-at-8000", "vendor-binary-and-text", "mode-plain"]
    {
        assert!(
            matches!(truth.patch(odd.repo.id(label)).unwrap(), ExpectedPatch::Stored(patch) if !patch.is_empty()),
            "{label}"
        );
    }
}

#[test]
fn text_with_a_late_nul_carries_forged_records_into_the_patch() {
    let odd = Odd::shared();
    assert!(contains(&odd.patch("nul-at-8000"), b"\0end\n"));
    for label in ["forged-records", "forged-records-changed"] {
        let patch = odd.patch(label);
        assert!(contains(&patch, b"\0\0diff --git a/forged.txt b/forged.txt\n"), "{label}");
        assert!(contains(&patch, b" M\0forged.txt\0"), "{label}");
    }
    let imitations = odd.patch("imitations");
    for line in [
        "\n+diff --git a/forged.txt b/forged.txt\n",
        "\n+commit ab12",
        "\n+:100644 100644 0000",
        "\n+Binary files a/x and b/x differ\n",
    ] {
        assert!(contains(&imitations, line.as_bytes()), "{line}");
    }
}

#[test]
fn patches_stand_at_the_cap_and_one_byte_over_it() {
    let odd = Odd::shared();
    assert_eq!(odd.patch("patch-at-cap").len(), PATCH_CAP);
    assert_eq!(odd.patch("patch-over-cap").len(), PATCH_CAP + 1);
    assert!(odd.patch("patch-far-over-cap").len() > 2 * PATCH_CAP);
    let truth = Truth::open(&odd.repo.path, None).unwrap();
    let kept = |label: &str| truth.patch(odd.repo.id(label)).unwrap();
    assert!(matches!(kept("patch-at-cap"), ExpectedPatch::Stored(patch) if patch.len() == PATCH_CAP));
    assert_eq!(kept("patch-over-cap"), ExpectedPatch::TooLarge);
}

#[test]
fn line_ends_and_bytes_come_through_as_they_are() {
    let odd = Odd::shared();
    for (label, part) in [
        ("no-last-newline", b"+second\n\\ No newline at end of file\n".as_slice()),
        ("last-newline-added", b"-second\n\\ No newline at end of file\n+second\n"),
        ("last-newline-removed", b"+second\n\\ No newline at end of file\n"),
        ("crlf", b"+second\r\n"),
        ("crlf-to-lf", b"-second\r\n"),
        ("mixed-line-ends", b"+one\rtwo\r\n"),
        ("latin1-content", b"+caf\xe9\n"),
        ("byte-order-mark", b"+\xef\xbb\xbfmarked\n"),
        ("control-characters", b"+\x1b[31mred"),
        ("one-long-line", b"long long long"),
    ] {
        assert!(contains(&odd.patch(label), part), "{label}");
    }
    assert!(odd.patch("empty-file").ends_with(b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"));
}

#[test]
fn what_the_repository_configures_would_change_the_patch_but_does_not() {
    let odd = Odd::shared();
    let truth = Truth::open(&odd.repo.path, None).unwrap();
    let commit = odd.repo.id("attributes-after");
    let plain = odd.git.bytes(&["show", "--format=", commit]).unwrap();
    assert!(contains(&plain, b"STILL QUIET"), "the textconv program runs for whoever lets it");
    let ExpectedPatch::Stored(patch) = truth.patch(commit).unwrap() else { panic!("a patch") };
    for part in [
        b"+still quiet\n".as_slice(),
        b"+version 2\n",
        b"Binary files a/text/attr.bin and b/text/attr.bin differ\n",
        // A driver for Rust would show the function's name here.
        b"@@ -9,6 +9,6 @@ mod a {\n",
    ] {
        assert!(contains(&patch, part), "{}", part.escape_ascii());
    }
}
