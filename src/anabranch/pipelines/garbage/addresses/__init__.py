"""Addresses as columns: hashes, listings, candidates, set operations."""
