"""TensorBoard's, TensorFlow's and tbparse's readers on tbq's engine: change one import, or none.

    from tbq.compat.event_accumulator import EventAccumulator
    from tbq.compat.event_multiplexer import EventMultiplexer
    from tbq.compat.event_file_loader import EventFileLoader
    from tbq.compat.summary_iterator import summary_iterator
    from tbq.compat.tbparse import SummaryReader
    from tbq.compat.data_provider import DataProvider

For a script that you cannot change: `python -m tbq.run --compat SCRIPT`, or `tbq.compat.install()` before its imports.
"""

from tbq.compat.installation import install, uninstall

__all__ = ["install", "uninstall"]
