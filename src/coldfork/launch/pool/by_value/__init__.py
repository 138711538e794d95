"""Pickle by value: take apart functions and classes that cannot be imported elsewhere, and rebuild them."""
