"""The parts of `tbq.compat.data_provider`."""
