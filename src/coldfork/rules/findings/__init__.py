"""Shared code for making findings from effects: wording, fingerprints, suppression."""
