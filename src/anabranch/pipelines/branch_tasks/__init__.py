"""Commits and merges that run in the background."""
