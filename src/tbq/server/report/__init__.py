"""The page with its data in one file."""
