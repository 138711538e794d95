"""Shared code for making a finding from an effect: wording, fingerprints, suppression."""
