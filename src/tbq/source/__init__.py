"""Finds runs and event files below paths and URLs, fetches remote files and unpacks compressed files."""

from tbq.source.discover import Found, Run, discover
from tbq.source.walk import is_event_file

__all__ = ["Found", "Run", "discover", "is_event_file"]
