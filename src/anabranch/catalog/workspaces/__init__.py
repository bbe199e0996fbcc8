"""Workspaces: branches with keys that reach nothing else, an end, checkpoints and a proposal."""
