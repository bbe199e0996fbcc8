"""Browsers: conditions of the network, and waits for what a page does."""
