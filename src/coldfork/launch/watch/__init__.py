"""Runs a program under watch: `coldfork run`."""
