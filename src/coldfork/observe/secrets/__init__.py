"""Find secrets in a text by their names, shapes and looks, without `re`.

This runs in watched programs, which may not have needed that module and the dozen that it imports.
"""
