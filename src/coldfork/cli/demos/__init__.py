"""Demonstrations for newcomers: small broken programs, and the commands that find and mend what is broken."""
