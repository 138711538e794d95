"""Python source, read without running it: skeleton, summary, values, and the effects of importing a
module.
"""
