"""Many requests as one transaction."""
