"""HTTP: routes, access, parameters and replies."""
