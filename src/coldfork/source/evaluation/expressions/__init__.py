"""What an expression evaluates to."""
