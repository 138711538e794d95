"""Shared parts of making a finding of an effect: words, fingerprints, suppression."""
