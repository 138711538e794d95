"""Run scripts in isolation: the caller's side of `coldfork exec` and `run_script`."""
