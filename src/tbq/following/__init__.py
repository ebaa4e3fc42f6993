"""Follows a log directory while it is being written."""
