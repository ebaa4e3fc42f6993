"""Tables of one kind, their layouts, and how they look."""

from tbq.table.table import Table as Table

__all__ = ["Table"]
