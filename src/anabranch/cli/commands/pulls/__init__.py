"""`pr`: pull requests, comments on them and reviews."""
