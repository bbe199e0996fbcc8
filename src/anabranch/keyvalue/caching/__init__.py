"""Reads that are served from memory or fetched ahead of time."""
