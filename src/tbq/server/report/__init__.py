"""`log.report`: the page with its data in one file."""
