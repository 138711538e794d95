"""Runs the programs that findings are about, and says of each finding what that showed."""
