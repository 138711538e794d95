"""Programs that a validation runs in interpreters of their own; each prints one JSON object."""
