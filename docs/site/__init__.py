"""The manual as a site: `python -m docs.site` writes it to build/site."""
