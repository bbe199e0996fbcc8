"""Imports: objects that lie in a store already are brought onto a branch, without being copied."""
