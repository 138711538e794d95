"""What a call does: of our functions, of classes, and of what has no source here."""
