"""What the formats of every report share: characters, colours, progress, options."""
