"""Demonstrations for newcomers: small broken programs, and the commands that find and mend the bugs."""
