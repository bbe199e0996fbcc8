"""The key-value store in PostgreSQL, for any number of machines."""
