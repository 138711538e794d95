"""The front door of a check: asked by the command line, by the doctor and by other programs alike."""
