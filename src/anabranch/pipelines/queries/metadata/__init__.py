"""Metadata as tables of queries: objects, their metadata, changes and commits, as one user."""
