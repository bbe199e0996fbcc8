"""Exports: what a commit holds is copied to a plain folder or prefix, and kept up to date there."""
