"""The index file: its tables, and every SQL statement that reads or writes them."""
