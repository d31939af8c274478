//! Ways in to parsers that nothing outside needs, for those who feed them any bytes (`lore-fuzz`). They promise nothing.

/// File, lines and comment of a message of lazygit-mcp-bridge.
pub fn message(bytes: &[u8]) -> Result<super::inbox::Parsed, String> {
    super::inbox::parsed(bytes)
}
