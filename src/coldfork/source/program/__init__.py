"""The modules of one analysis, found and summarised when they are asked for."""
