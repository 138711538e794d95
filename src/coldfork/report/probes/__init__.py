"""The results of `coldfork probe`, in every format."""
