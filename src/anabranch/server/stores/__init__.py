"""Opens the stores that the settings name."""
