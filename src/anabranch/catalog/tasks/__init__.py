"""Tasks in the background, and those that run periodically."""
