"""tbparse's `SummaryReader` on tbq's engine."""

from tbq.compat.tbparse.reader import SummaryReader

__all__ = ["SummaryReader"]
