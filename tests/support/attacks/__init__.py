"""References made while garbage collection runs."""
