"""Repositories, dumps of their references, rules of retention, and results of their removal."""
