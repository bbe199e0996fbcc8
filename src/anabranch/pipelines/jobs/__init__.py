"""Long-running jobs of this process."""
