"""The modules of the standard library whose functions are modelled, one file for each group."""
