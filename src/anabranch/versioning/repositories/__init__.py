"""Repositories, and dumps of their references."""
