"""The command line: commands parse options, call other packages and set exit statuses."""
