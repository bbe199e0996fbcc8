"""Marking: which addresses are referenced, and which referenced ones are missing."""
