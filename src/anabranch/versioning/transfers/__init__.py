"""Transfers: copies and moves of all objects under a prefix."""
