"""What a recording comes to: verdicts, doubts, chains, and the words for them."""
