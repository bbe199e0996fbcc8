"""Use cases of pull requests, their comments and reviews."""
