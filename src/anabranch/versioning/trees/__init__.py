"""The trees of commits, and the check of addresses in those that clients write."""
