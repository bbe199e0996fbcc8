"""Exports: copies of a commit's objects in a plain folder or prefix, which are kept up to date."""
