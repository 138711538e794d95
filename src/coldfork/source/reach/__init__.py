"""From what single modules do to what importing each of them wakes."""
