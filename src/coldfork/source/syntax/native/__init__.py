"""What is compiled where there is a C compiler, and works without it: each part has a twin in Python."""
