"""SQL, filters and the doctor, in other processes."""
