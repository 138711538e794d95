"""Pickle by value: take apart functions and classes that another process cannot import, and rebuild them."""
