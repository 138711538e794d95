"""The vocabulary: frozen dataclasses and enumerations that every other folder may use. No I/O here."""
