"""The effects of calls: to our functions, to classes, and to code without source."""
