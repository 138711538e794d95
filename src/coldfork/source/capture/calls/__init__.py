"""Calls in code around and inside a capture: what is handed over, and what is entered or judged."""
