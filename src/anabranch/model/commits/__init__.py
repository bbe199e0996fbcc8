"""Commits, and the changes between their trees."""
