"""Logs and dumps: what is read, the stories that it tells, and the culprits."""
