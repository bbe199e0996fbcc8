"""Sweeping: removing the objects that nothing refers to."""
