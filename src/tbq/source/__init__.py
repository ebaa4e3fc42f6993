"""Which bytes: the runs and event files below a path, and compressed files unpacked."""

from tbq.source.discover import Found, Run, discover
from tbq.source.walk import is_event_file

__all__ = ["Found", "Run", "discover", "is_event_file"]
