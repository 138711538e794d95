"""The language server: findings while a file is being written, in any editor that speaks the protocol."""
