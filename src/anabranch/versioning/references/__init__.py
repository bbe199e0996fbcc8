"""Branches and their protection, tags, and the resolution of reference expressions."""
