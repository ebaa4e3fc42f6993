"""What the page asks for: one module per kind of answer."""
