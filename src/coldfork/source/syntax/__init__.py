"""From the bytes of a file to its summary: plain data that says what importing it does."""
