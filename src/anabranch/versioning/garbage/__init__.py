"""What garbage collection needs of versioning: retention, sweeps under way, pins."""
