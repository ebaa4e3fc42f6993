"""Columns of Arrow tables: their codes, names and times, and rows chosen by name."""
