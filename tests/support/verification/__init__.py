"""For tests of the verification of installations."""
