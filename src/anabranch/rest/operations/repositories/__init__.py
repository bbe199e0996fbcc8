"""Repositories, dumps of their references, reports on their storage, and purges."""
