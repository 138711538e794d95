"""An inference engine."""
