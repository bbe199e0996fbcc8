"""Branches and their protection, tags, and what two references have in common."""
