"""The language server: shows findings while a file is edited, in any editor that speaks the protocol."""
