"""Diagnosis: reads logs and stack dumps, recognises known failures, and names the lines at fault."""
