"""From the effects that each module has by itself to the effects of importing it."""
