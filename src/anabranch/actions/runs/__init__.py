"""Runs: the hooks of one event, how they are run, and what is stored of them."""
