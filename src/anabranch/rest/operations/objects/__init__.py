"""Reads and writes of objects: content, uploads, addresses, moves and copies."""
