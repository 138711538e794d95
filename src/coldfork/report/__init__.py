"""The reports, with one module for each format. They print results, but never judge them."""
