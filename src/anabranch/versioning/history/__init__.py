"""Commit graphs: ancestor walks, the log, merge bases."""
