"""Block stores, which hold the bytes of objects and tables."""
