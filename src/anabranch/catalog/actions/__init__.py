"""Use cases of actions, and what their hooks may read and change."""
