"""Use cases: permission, then one call into the core."""
