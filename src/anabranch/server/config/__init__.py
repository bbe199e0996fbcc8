"""Configuration: what can be set, from where it is read, and how."""
