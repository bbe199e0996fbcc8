"""Commands about this program: its settings, credentials, completion and version."""
