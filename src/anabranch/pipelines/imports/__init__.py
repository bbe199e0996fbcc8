"""Imports: existing objects of a store are added to a branch without being copied."""
