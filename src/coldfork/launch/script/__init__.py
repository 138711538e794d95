"""Runs scripts isolated: what the caller does for `coldfork exec` and `run_script`."""
