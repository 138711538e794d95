"""Find secrets in a text: by names, by shapes and by looks, without `re`.

This runs in watched programs, which may never have needed that module and the dozen below it.
"""
