//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

/// File, lines and comment of a message of lazygit-mcp-bridge.
pub fn message(bytes: &[u8]) -> Result<super::inbox::Parsed, String> {
    super::inbox::parsed(bytes)
}
