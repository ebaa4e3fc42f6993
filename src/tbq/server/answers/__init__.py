"""The answers of the API: one module per kind."""
