"""In what two recordings differ, in every format."""
