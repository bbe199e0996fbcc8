"""Access control: users, credentials, tokens, permissions and their check."""
