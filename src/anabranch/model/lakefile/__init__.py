"""Lakefiles: their instructions and their parser."""
