"""Checks of the key-value store: its records, and what they say of each other."""
