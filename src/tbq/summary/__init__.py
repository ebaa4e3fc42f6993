"""Summaries: one row per run, from the statistics of its scalars to the leaderboard."""
