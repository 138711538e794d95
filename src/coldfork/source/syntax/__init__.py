"""From the bytes of a file to its summary: plain data that describes the effects of importing the file."""
