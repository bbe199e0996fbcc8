"""Commits, merges and edits of the history, and what commits say about objects."""
