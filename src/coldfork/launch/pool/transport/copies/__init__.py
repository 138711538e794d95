"""Functions and classes that travel by value: what they are made of, and what is made of that."""
