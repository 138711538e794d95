"""Run scripts isolated: the caller's side of `coldfork exec` and `run_script`."""
