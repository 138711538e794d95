"""The outcome of a recording: verdicts, doubts, chains, and the wording for them."""
