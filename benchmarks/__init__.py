"""Measurements behind the claims about coldfork: published sources, known bugs, speed beside the peers."""
