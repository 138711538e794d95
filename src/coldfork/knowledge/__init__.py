"""The effects of libraries on devices, and remedies, as data: one TOML file per library, and the loader."""
