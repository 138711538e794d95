"""The outcome of a recording: verdict, doubts and chains, and the sentences that describe them."""
