"""Makes Lore's built-in embedding table from registry packages. See ../README.md."""
