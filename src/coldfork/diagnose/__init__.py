"""Logs and dumps: how they are read, the stories they tell, and the culprits."""
