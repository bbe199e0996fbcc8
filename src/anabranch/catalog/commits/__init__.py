"""Use cases of commits, and rules of merges; rebases; what commits say about objects."""
