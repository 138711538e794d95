"""Checks of what coldfork itself has installed, recorded and can see."""
