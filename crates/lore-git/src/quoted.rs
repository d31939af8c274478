//! Paths as git prints them where a line must hold them: in quotation marks, with escapes, where they are odd.

/// The bytes that a path stands for; `None` where it is quoted and the quotation cannot be understood.
pub fn unquote_path(printed: &[u8]) -> Option<Vec<u8>> {
    let Some(inner) = printed.strip_prefix(b"\"") else { return Some(printed.to_vec()) };
    let inner = inner.strip_suffix(b"\"")?;
    let mut path = Vec::with_capacity(inner.len());
    let mut rest = inner.iter().copied();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            path.push(byte);
            continue;
        }
        path.push(match rest.next()? {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            plain @ (b'"' | b'\\') => plain,
            first @ b'0'..=b'3' => {
                let digit = |byte: u8| (b'0'..=b'7').contains(&byte).then(|| byte - b'0');
                (first - b'0') << 6 | digit(rest.next()?)? << 3 | digit(rest.next()?)?
            }
            _ => return None,
        });
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_read_as_git_writes_them() {
        for (printed, expected) in [
            (&b"src/a b.rs"[..], Some(&b"src/a b.rs"[..])),
            (br#""a\tb\nc\"d\\e\303\244\377""#, Some(b"a\tb\nc\"d\\e\xc3\xa4\xff")),
            (br#""open"#, None),
            (br#""\8""#, None),
            (br#""\30""#, None),
            (br#""\""#, None),
            (b"", Some(b"")),
        ] {
            assert_eq!(unquote_path(printed).as_deref(), expected, "{}", String::from_utf8_lossy(printed));
        }
    }
}
