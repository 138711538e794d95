"""What is remembered of a run, as bytes: what modules do by themselves, and the answers about all of them."""
