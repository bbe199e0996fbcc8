"""Queries of objects, and tables in folders."""
