"""The programs of the integrations, each for the environment of its own integration."""
