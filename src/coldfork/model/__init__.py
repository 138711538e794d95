"""The vocabulary: frozen dataclasses and enumerations that every other room may use. No I/O here."""
