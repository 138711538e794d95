"""Python source, read without running it: skeleton, summary, values, and what importing a module reaches."""
