"""Use cases of branches and tags, and of two references: differences, merges, merge bases."""
