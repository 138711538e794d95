"""The effects of calls: to functions with source, to classes, and to code without source."""
