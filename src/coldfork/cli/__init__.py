"""The command line. Commands parse options, call other packages, and turn results into exit statuses."""
