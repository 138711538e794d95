"""The small process between a caller and a script: standard library only."""
