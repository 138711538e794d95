"""The findings of `coldfork check`, in every format."""
