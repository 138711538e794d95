"""The ways in which the work of a job is done; `choice` has the one that was asked for."""
