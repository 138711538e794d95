"""The command line. Its commands parse options, call other packages, and set exit statuses."""
