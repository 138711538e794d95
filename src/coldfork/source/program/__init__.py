"""The modules of one analysis, found and summarised on demand."""
