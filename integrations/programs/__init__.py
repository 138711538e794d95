"""What the integrations run; each is a program for the environment of its own integration."""
