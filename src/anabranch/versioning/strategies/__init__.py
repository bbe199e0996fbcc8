"""Merge strategies: how the content of objects that both sides of a merge changed is merged."""
