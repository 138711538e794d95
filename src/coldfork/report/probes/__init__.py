"""Reports on the results of `coldfork probe`, in every format."""
