"""Checks of what is outside of the key-value store: tables, objects, journals, files."""
