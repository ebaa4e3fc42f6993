"""What is new since the last look: a log directory that is followed while it is written."""
