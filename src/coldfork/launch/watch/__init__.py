"""Run a program under watch: `coldfork run`."""
