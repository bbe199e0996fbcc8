"""The stores that the settings name, opened."""
