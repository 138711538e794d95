"""What in a text is secret: found by names, by shapes and by looks, without the help of `re`.

It runs in programs that are watched, which may never have wanted that module and the dozen below it.
"""
