"""Use cases of repositories, and of dumps of their references."""
