"""Commands of workspaces."""
