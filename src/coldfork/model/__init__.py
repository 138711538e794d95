"""The vocabulary: frozen dataclasses and enumerations that all other folders may use. No I/O here."""
