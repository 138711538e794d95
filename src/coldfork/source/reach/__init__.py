"""From the effects that each module has itself to the effects of importing it."""
