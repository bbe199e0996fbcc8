"""Who may: users, credentials, tokens and the one decision."""
