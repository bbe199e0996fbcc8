"""What the block stores on cloud object storage have in common."""
