"""From the bytes of a file to its summary: plain data that describes what importing the file does."""
