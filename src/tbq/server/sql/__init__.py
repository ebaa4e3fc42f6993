"""SQL, filters and the doctor, which run in other processes."""
