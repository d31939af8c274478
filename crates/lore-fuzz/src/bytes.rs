//! Input as several things: so that what is kept can be read, these are lines or parts between them.

/// The text of an input; what is no UTF-8 is replaced, as nobody can type it.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first line and what follows it.
pub(crate) fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.map_or((bytes, &[][..]), |end| (&bytes[..end], &bytes[end + 1..]))
}

/// Bytes with changes: each three bytes of `edits` are a place (two bytes, as a share of the length) and what is there then.
pub(crate) fn edited(base: &[u8], edits: &[u8]) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for edit in edits.chunks_exact(3) {
        let place = (usize::from(u16::from_le_bytes([edit[0], edit[1]])) * base.len()) >> 16;
        bytes[place] = edit[2];
    }
    bytes
}

/// The same bytes in pieces of one size.
pub(crate) struct Pieces<'a>(pub(crate) &'a [u8], pub(crate) usize);

impl std::io::Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.len().min(self.1).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}
