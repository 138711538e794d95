"""The command line: one module per command. Commands parse, call and turn results into an exit status."""
