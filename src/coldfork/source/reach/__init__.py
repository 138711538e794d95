"""From the effects of single modules to those of importing each of them."""
