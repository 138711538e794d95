"""Run tasks on warm workers; a failing task affects no other, and its caller learns how it ended."""
