"""The modules of one analysis, found and summarised when needed."""
