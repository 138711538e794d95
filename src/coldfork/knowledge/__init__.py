"""What libraries do to devices, and remedies, as data: one TOML file per library, the loader beside it."""
