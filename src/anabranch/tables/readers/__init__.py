"""Readers of the formats that name the types of their columns, and of JSON."""
