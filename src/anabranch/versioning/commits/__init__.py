"""The committer and what it proposes before a branch moves, and commits that clients write."""
