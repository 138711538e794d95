"""Reports on the findings of `coldfork check`, in every format."""
