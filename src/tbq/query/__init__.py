"""Questions to a log: SQL, datasets, lazy frames, and statistics over runs."""
