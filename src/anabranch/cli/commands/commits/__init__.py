"""Commands that make, combine, revert and show commits."""
