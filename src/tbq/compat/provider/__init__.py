"""What `tbq.compat.data_provider` is made of."""
