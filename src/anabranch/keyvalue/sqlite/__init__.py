"""The key-value store in a SQLite file, for one machine and any number of its processes."""
